CREATE TABLE "api_keys" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"key_hash" "bytea" NOT NULL,
	"subject" text NOT NULL,
	"roles" text[] NOT NULL,
	"warehouse_ids" text[] NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"revoked_by" text,
	"revoked_at" timestamp with time zone,
	"last_used_at" timestamp with time zone,
	CONSTRAINT "api_keys_hash" CHECK (octet_length(key_hash) = 32),
	CONSTRAINT "api_keys_roles" CHECK (cardinality(roles) > 0),
	CONSTRAINT "api_keys_expiry" CHECK (expires_at > created_at),
	CONSTRAINT "api_keys_revocation" CHECK ((revoked_at IS NULL) = (revoked_by IS NULL))
);
--> statement-breakpoint
CREATE TABLE "audit_entries" (
	"id" uuid PRIMARY KEY NOT NULL,
	"started_at" timestamp with time zone NOT NULL,
	"request_id" text NOT NULL,
	"caller_subject" text,
	"caller_roles" text[] NOT NULL,
	"api_key_id" uuid,
	"remote_address" text NOT NULL,
	"field" text NOT NULL,
	"outcome" text,
	"ended_at" timestamp with time zone,
	"subject_ids" text[] NOT NULL,
	CONSTRAINT "audit_entries_outcome" CHECK ((outcome IS NULL) = (ended_at IS NULL))
);
--> statement-breakpoint
CREATE TABLE "rate_limits" (
	"key" text PRIMARY KEY NOT NULL,
	"points" integer NOT NULL,
	"expire" timestamp with time zone
);
--> statement-breakpoint
CREATE INDEX "api_keys_created" ON "api_keys" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "api_keys_subject" ON "api_keys" USING btree ("subject");--> statement-breakpoint
CREATE INDEX "audit_entries_started" ON "audit_entries" USING btree ("started_at","id");--> statement-breakpoint
CREATE INDEX "audit_entries_caller" ON "audit_entries" USING btree ("caller_subject","started_at","id");--> statement-breakpoint
CREATE INDEX "audit_entries_subjects" ON "audit_entries" USING gin ("subject_ids");--> statement-breakpoint
CREATE INDEX "rate_limits_expire" ON "rate_limits" USING btree ("expire");