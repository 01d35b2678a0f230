CREATE TYPE "public"."submission_signer" AS ENUM('CUSTODY', 'HOLDER');--> statement-breakpoint
ALTER TYPE "public"."cash_out_state" ADD VALUE 'AWAITING_SIGNATURE' BEFORE 'DEPOSITING';--> statement-breakpoint
CREATE TABLE "holder_acts" (
	"id" uuid PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"call" jsonb NOT NULL,
	"holder" text NOT NULL,
	"prepared_by" text NOT NULL,
	"cash_out_session_id" uuid,
	"format" text NOT NULL,
	"payload" text NOT NULL,
	"valid_until" bigint,
	"prepared_at_ledger" bigint NOT NULL,
	"submission_id" uuid,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "holder_acts_session_of_deposit" CHECK ((kind = 'retire') = (cash_out_session_id IS NULL)),
	CONSTRAINT "holder_acts_kind" CHECK (kind IN ('retire', 'approve', 'initiateOffRamp'))
);
--> statement-breakpoint
ALTER TABLE "cash_out_sessions" DROP CONSTRAINT "cash_out_state_of_custody";--> statement-breakpoint
DROP INDEX "submissions_intent";--> statement-breakpoint
ALTER TABLE "cash_out_sessions" ADD COLUMN "sign_until" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "submissions" ADD COLUMN "signer" "submission_signer" DEFAULT 'CUSTODY' NOT NULL;--> statement-breakpoint
ALTER TABLE "holder_acts" ADD CONSTRAINT "holder_acts_cash_out_session_id_cash_out_sessions_id_fk" FOREIGN KEY ("cash_out_session_id") REFERENCES "public"."cash_out_sessions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "holder_acts" ADD CONSTRAINT "holder_acts_submission_id_submissions_id_fk" FOREIGN KEY ("submission_id") REFERENCES "public"."submissions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "holder_acts_submission" ON "holder_acts" USING btree ("submission_id");--> statement-breakpoint
CREATE INDEX "holder_acts_session" ON "holder_acts" USING btree ("cash_out_session_id","created_at","id");--> statement-breakpoint
CREATE UNIQUE INDEX "submissions_intent" ON "submissions" USING btree ("subject_id","kind") WHERE state <> 'REFUSED' AND NOT (kind = 'approve' AND state = 'SUCCEEDED');--> statement-breakpoint
ALTER TABLE "cash_out_sessions" ADD CONSTRAINT "cash_out_signature_of_a_holder" CHECK (state::text <> 'AWAITING_SIGNATURE' OR sign_until IS NOT NULL);--> statement-breakpoint
ALTER TABLE "cash_out_sessions" ADD CONSTRAINT "cash_out_state_of_custody" CHECK (CASE
        WHEN state::text IN ('OPENING', 'AWAITING_SIGNATURE', 'DEPOSITING', 'CLOSING', 'REFUSED') THEN deposited_at IS NULL
        WHEN state::text IN ('AWAITING_PAYOUT', 'CONFIRMING', 'REFUNDING') THEN deposited_at IS NOT NULL AND released_at IS NULL
        WHEN state::text IN ('SETTLED', 'REFUNDED') THEN released_at IS NOT NULL
        ELSE true END);