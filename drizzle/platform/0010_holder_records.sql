ALTER TABLE "holder_acts" ADD COLUMN "project_id" uuid;--> statement-breakpoint
ALTER TABLE "holder_acts" ADD COLUMN "record_index" integer;--> statement-breakpoint
ALTER TABLE "holder_acts" ADD COLUMN "record_tx_hash" text;--> statement-breakpoint
ALTER TABLE "holder_acts" ADD CONSTRAINT "holder_acts_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "holder_acts_record" ON "holder_acts" USING btree ("project_id","record_index") WHERE record_index IS NOT NULL;--> statement-breakpoint
ALTER TABLE "holder_acts" ADD CONSTRAINT "holder_acts_record_is_known" CHECK ((record_index IS NULL) = (record_tx_hash IS NULL));