CREATE TYPE "public"."account_kind" AS ENUM('issuance', 'inventory', 'buyer', 'retiring', 'retired');--> statement-breakpoint
CREATE TYPE "public"."transfer_kind" AS ENUM('issue', 'purchase', 'retirement_hold', 'retirement_settle', 'retirement_return');--> statement-breakpoint
CREATE TYPE "public"."retirement_state" AS ENUM('PENDING', 'RETIRED', 'REFUSED', 'NEEDS_REVIEW');--> statement-breakpoint
CREATE TYPE "public"."registration_state" AS ENUM('REGISTERING', 'LIVE', 'REPLACED');--> statement-breakpoint
CREATE TYPE "public"."project_state" AS ENUM('DEPLOYING', 'MINTING', 'OPEN', 'REFUSED', 'NEEDS_REVIEW');--> statement-breakpoint
CREATE TYPE "public"."attempt_state" AS ENUM('OPEN', 'LANDED', 'REFUSED', 'DEAD');--> statement-breakpoint
CREATE TYPE "public"."submission_state" AS ENUM('PENDING', 'SUCCEEDED', 'REFUSED', 'NEEDS_REVIEW');--> statement-breakpoint
CREATE TABLE "accounts" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "accounts_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" uuid NOT NULL,
	"kind" "account_kind" NOT NULL,
	"owner_id" text NOT NULL,
	"balance" bigint DEFAULT 0 NOT NULL,
	"version" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "accounts_identity" UNIQUE("project_id","kind","owner_id"),
	CONSTRAINT "accounts_sign" CHECK (CASE WHEN kind = 'issuance' THEN balance <= 0 ELSE balance >= 0 END),
	CONSTRAINT "accounts_owner_is_buyer" CHECK ((kind = 'buyer') = (owner_id <> ''))
);
--> statement-breakpoint
CREATE TABLE "entries" (
	"account_id" bigint NOT NULL,
	"version" bigint NOT NULL,
	"transfer_id" uuid NOT NULL,
	"amount" bigint NOT NULL,
	"balance_before" bigint NOT NULL,
	"balance_after" bigint NOT NULL,
	CONSTRAINT "entries_position" UNIQUE("account_id","version"),
	CONSTRAINT "entries_side" UNIQUE("transfer_id","account_id"),
	CONSTRAINT "entries_arithmetic" CHECK (balance_after = balance_before + amount),
	CONSTRAINT "entries_version_positive" CHECK (version > 0)
);
--> statement-breakpoint
CREATE TABLE "transfers" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"kind" "transfer_kind" NOT NULL,
	"reference_id" uuid NOT NULL,
	"debit_account_id" bigint NOT NULL,
	"credit_account_id" bigint NOT NULL,
	"amount" bigint NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "transfers_once" UNIQUE("reference_id","kind"),
	CONSTRAINT "transfers_positive" CHECK (amount > 0),
	CONSTRAINT "transfers_two_sides" CHECK (debit_account_id <> credit_account_id)
);
--> statement-breakpoint
CREATE TABLE "purchases" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"buyer_id" text NOT NULL,
	"amount_tonnes" bigint NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "purchases_positive" CHECK (amount_tonnes > 0)
);
--> statement-breakpoint
CREATE TABLE "retirements" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"buyer_id" text NOT NULL,
	"beneficiary" text NOT NULL,
	"note" text NOT NULL,
	"amount_tonnes" bigint NOT NULL,
	"state" "retirement_state" NOT NULL,
	"tx_hash" text,
	"record_index" integer,
	"ledger" bigint,
	"refusal_message" text,
	"requested_at" timestamp with time zone NOT NULL,
	"settled_at" timestamp with time zone,
	CONSTRAINT "retirements_record" UNIQUE("project_id","record_index"),
	CONSTRAINT "retirements_positive" CHECK (amount_tonnes > 0),
	CONSTRAINT "retirements_retired_is_proved" CHECK ((state = 'RETIRED') = (tx_hash IS NOT NULL AND record_index IS NOT NULL))
);
--> statement-breakpoint
CREATE TABLE "feed_head" (
	"singleton" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"position" bigint NOT NULL,
	CONSTRAINT "feed_head_singleton" CHECK (singleton)
);
--> statement-breakpoint
CREATE TABLE "retirement_records" (
	"position" bigint NOT NULL,
	"project_id" uuid NOT NULL,
	"token_address" text NOT NULL,
	"index" integer NOT NULL,
	"retired_by" text NOT NULL,
	"amount" numeric(39, 0) NOT NULL,
	"timestamp" bigint NOT NULL,
	"beneficiary" text NOT NULL,
	"note" text NOT NULL,
	"tx_hash" text,
	"appended_at" timestamp with time zone NOT NULL,
	CONSTRAINT "retirement_records_token_address_index_pk" PRIMARY KEY("token_address","index"),
	CONSTRAINT "retirement_records_position" UNIQUE("position"),
	CONSTRAINT "retirement_records_index" CHECK (index >= 0)
);
--> statement-breakpoint
CREATE TABLE "early_deliveries" (
	"id" uuid PRIMARY KEY NOT NULL,
	"body" "bytea" NOT NULL,
	"signature" text NOT NULL,
	"received_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "indexer_events" (
	"id" text PRIMARY KEY NOT NULL,
	"token_address" text NOT NULL,
	"record_index" integer NOT NULL,
	"tx_hash" text NOT NULL,
	"ledger" bigint,
	"received_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "indexer_registrations" (
	"id" uuid PRIMARY KEY NOT NULL,
	"state" "registration_state" NOT NULL,
	"url" text NOT NULL,
	"webhook_id" text,
	"sealed_secret" text,
	"created_at" timestamp with time zone NOT NULL,
	"replaced_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"caller_id" text NOT NULL,
	"operation" text NOT NULL,
	"key" text NOT NULL,
	"input_hash" text NOT NULL,
	"subject_id" uuid NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "idempotency_keys_caller_id_operation_key_pk" PRIMARY KEY("caller_id","operation","key")
);
--> statement-breakpoint
CREATE TABLE "installation" (
	"singleton" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"network_name" text NOT NULL,
	"network_id" text NOT NULL,
	"custody_address" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "installation_singleton" CHECK (singleton)
);
--> statement-breakpoint
CREATE TABLE "projects" (
	"id" uuid PRIMARY KEY NOT NULL,
	"state" "project_state" NOT NULL,
	"asset_id" text NOT NULL,
	"asset_key" text NOT NULL,
	"credit_type" text NOT NULL,
	"verification_body_ref" text NOT NULL,
	"vintage_year" integer NOT NULL,
	"quantity_tonnes" bigint NOT NULL,
	"project_location" text NOT NULL,
	"project_type" text NOT NULL,
	"country_code" text NOT NULL,
	"token_name" text NOT NULL,
	"token_symbol" text NOT NULL,
	"deploy_salt" text NOT NULL,
	"token_address" text,
	"developer_id" text NOT NULL,
	"refusal_message" text,
	"created_at" timestamp with time zone NOT NULL,
	"opened_at" timestamp with time zone,
	CONSTRAINT "projects_token" UNIQUE("token_address"),
	CONSTRAINT "projects_quantity_positive" CHECK (quantity_tonnes > 0),
	CONSTRAINT "projects_open_has_token" CHECK (state NOT IN ('OPEN', 'MINTING') OR token_address IS NOT NULL)
);
--> statement-breakpoint
CREATE TABLE "attempts" (
	"hash" text PRIMARY KEY NOT NULL,
	"submission_id" uuid NOT NULL,
	"number" integer NOT NULL,
	"state" "attempt_state" NOT NULL,
	"source" text NOT NULL,
	"sequence" bigint,
	"signed_bytes" "bytea" NOT NULL,
	"valid_until" bigint,
	"prepared_at_ledger" bigint NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"verdict" text,
	"decided_at" timestamp with time zone,
	CONSTRAINT "attempts_number" UNIQUE("submission_id","number"),
	CONSTRAINT "attempts_number_positive" CHECK (number > 0)
);
--> statement-breakpoint
CREATE TABLE "submissions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"subject_id" uuid NOT NULL,
	"call" jsonb NOT NULL,
	"state" "submission_state" NOT NULL,
	"due_at" timestamp with time zone NOT NULL,
	"fruitless_steps" integer DEFAULT 0 NOT NULL,
	"tx_hash" text,
	"result" jsonb,
	"refusal_reason" text,
	"message" text,
	"created_at" timestamp with time zone NOT NULL,
	"settled_at" timestamp with time zone,
	CONSTRAINT "submissions_intent" UNIQUE("subject_id","kind"),
	CONSTRAINT "submissions_succeeded_has_hash" CHECK (state <> 'SUCCEEDED' OR tx_hash IS NOT NULL)
);
--> statement-breakpoint
ALTER TABLE "accounts" ADD CONSTRAINT "accounts_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "entries" ADD CONSTRAINT "entries_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "entries" ADD CONSTRAINT "entries_transfer_id_transfers_id_fk" FOREIGN KEY ("transfer_id") REFERENCES "public"."transfers"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "transfers" ADD CONSTRAINT "transfers_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "transfers" ADD CONSTRAINT "transfers_debit_account_id_accounts_id_fk" FOREIGN KEY ("debit_account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "transfers" ADD CONSTRAINT "transfers_credit_account_id_accounts_id_fk" FOREIGN KEY ("credit_account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "purchases" ADD CONSTRAINT "purchases_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "retirements" ADD CONSTRAINT "retirements_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "retirement_records" ADD CONSTRAINT "retirement_records_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "attempts" ADD CONSTRAINT "attempts_submission_id_submissions_id_fk" FOREIGN KEY ("submission_id") REFERENCES "public"."submissions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "accounts_owner" ON "accounts" USING btree ("owner_id") WHERE kind = 'buyer';--> statement-breakpoint
CREATE INDEX "transfers_project" ON "transfers" USING btree ("project_id","created_at");--> statement-breakpoint
CREATE INDEX "purchases_buyer" ON "purchases" USING btree ("buyer_id","created_at");--> statement-breakpoint
CREATE INDEX "retirements_buyer" ON "retirements" USING btree ("buyer_id","requested_at","id");--> statement-breakpoint
CREATE INDEX "retirements_project" ON "retirements" USING btree ("project_id","requested_at","id");--> statement-breakpoint
CREATE INDEX "retirements_requested" ON "retirements" USING btree ("requested_at","id");--> statement-breakpoint
CREATE INDEX "retirement_records_token_position" ON "retirement_records" USING btree ("token_address","position");--> statement-breakpoint
CREATE INDEX "indexer_events_record" ON "indexer_events" USING btree ("token_address","record_index");--> statement-breakpoint
CREATE UNIQUE INDEX "indexer_registrations_one_live" ON "indexer_registrations" USING btree ("state") WHERE state = 'LIVE';--> statement-breakpoint
CREATE INDEX "idempotency_keys_created" ON "idempotency_keys" USING btree ("created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "projects_asset_once" ON "projects" USING btree ("asset_key") WHERE state <> 'REFUSED';--> statement-breakpoint
CREATE INDEX "projects_created" ON "projects" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "projects_country" ON "projects" USING btree ("country_code","created_at","id");--> statement-breakpoint
CREATE INDEX "projects_vintage" ON "projects" USING btree ("vintage_year","created_at","id");--> statement-breakpoint
CREATE UNIQUE INDEX "attempts_one_open" ON "attempts" USING btree ("submission_id") WHERE state = 'OPEN';--> statement-breakpoint
CREATE UNIQUE INDEX "attempts_one_landed" ON "attempts" USING btree ("submission_id") WHERE state = 'LANDED';--> statement-breakpoint
CREATE INDEX "submissions_due" ON "submissions" USING btree ("due_at") WHERE state = 'PENDING';--> statement-breakpoint
CREATE INDEX "submissions_review" ON "submissions" USING btree ("created_at") WHERE state = 'NEEDS_REVIEW';