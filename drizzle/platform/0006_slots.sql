CREATE TABLE "signing_accounts" (
	"address" text PRIMARY KEY NOT NULL,
	"next_sequence" bigint NOT NULL,
	"halted_because" text,
	"review_due_at" timestamp with time zone
);
--> statement-breakpoint
DROP INDEX "attempts_one_open";--> statement-breakpoint
ALTER TABLE "attempts" ADD COLUMN "outbids" text;--> statement-breakpoint
ALTER TABLE "attempts" ADD CONSTRAINT "attempts_outbids_attempts_hash_fk" FOREIGN KEY ("outbids") REFERENCES "public"."attempts"("hash") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "attempts_slot" ON "attempts" USING btree ("source","sequence") WHERE state <> 'DEAD' AND outbids IS NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "attempts_outbids" ON "attempts" USING btree ("outbids");--> statement-breakpoint
CREATE UNIQUE INDEX "attempts_one_open" ON "attempts" USING btree ("submission_id") WHERE state = 'OPEN' AND outbids IS NULL;