CREATE TYPE "public"."expiry_item_state" AS ENUM('PENDING', 'EXPIRED', 'NOT_DUE', 'FAILED');--> statement-breakpoint
CREATE TYPE "public"."expiry_trigger" AS ENUM('NIGHTLY', 'CATCH_UP', 'MANUAL');--> statement-breakpoint
CREATE TYPE "public"."cash_out_decision" AS ENUM('RETRY', 'CONFIRM', 'REFUND', 'ACCEPT');--> statement-breakpoint
CREATE TYPE "public"."cash_out_resolution" AS ENUM('SETTLE', 'REFUND');--> statement-breakpoint
CREATE TYPE "public"."cash_out_state" AS ENUM('OPENING', 'DEPOSITING', 'AWAITING_PAYOUT', 'CONFIRMING', 'REFUNDING', 'CLOSING', 'SETTLED', 'REFUNDED', 'REFUSED', 'NEEDS_REVIEW');--> statement-breakpoint
CREATE TYPE "public"."payout_account_type" AS ENUM('MOBILE_MONEY', 'BANK');--> statement-breakpoint
CREATE TYPE "public"."ramp_status" AS ENUM('pending', 'processing', 'settled', 'failed', 'refunded');--> statement-breakpoint
CREATE TYPE "public"."settlement_deployment_state" AS ENUM('DEPLOYING', 'DEPLOYED', 'REFUSED', 'NEEDS_REVIEW');--> statement-breakpoint
CREATE TYPE "public"."receipt_state" AS ENUM('DEPLOYING', 'MINTING', 'ACTIVE', 'EXPIRED', 'REFUSED', 'NEEDS_REVIEW');--> statement-breakpoint
CREATE TABLE "expiry_items" (
	"run_id" uuid NOT NULL,
	"receipt_id" uuid NOT NULL,
	"state" "expiry_item_state" NOT NULL,
	"reason" text,
	"tx_hash" text,
	"examined_at" timestamp with time zone NOT NULL,
	"decided_at" timestamp with time zone,
	CONSTRAINT "expiry_items_run_id_receipt_id_pk" PRIMARY KEY("run_id","receipt_id"),
	CONSTRAINT "expiry_items_failed_says_why" CHECK (state <> 'FAILED' OR reason IS NOT NULL),
	CONSTRAINT "expiry_items_decided" CHECK ((state = 'PENDING') = (decided_at IS NULL))
);
--> statement-breakpoint
CREATE TABLE "expiry_runs" (
	"id" uuid PRIMARY KEY NOT NULL,
	"trigger" "expiry_trigger" NOT NULL,
	"night" date,
	"requested_by" text NOT NULL,
	"started_at" timestamp with time zone NOT NULL,
	"swept_at" timestamp with time zone,
	"finished_at" timestamp with time zone,
	"due_at" timestamp with time zone,
	"fruitless_steps" integer DEFAULT 0 NOT NULL,
	"problem" text,
	CONSTRAINT "expiry_runs_night_or_manual" CHECK ((trigger = 'MANUAL') = (night IS NULL)),
	CONSTRAINT "expiry_runs_order" CHECK (finished_at IS NULL OR swept_at IS NOT NULL),
	CONSTRAINT "expiry_runs_due_until_swept" CHECK ((swept_at IS NULL) = (due_at IS NOT NULL))
);
--> statement-breakpoint
CREATE TABLE "cash_out_provider_statuses" (
	"session_id" uuid NOT NULL,
	"position" integer NOT NULL,
	"status" "ramp_status" NOT NULL,
	"observed_at" timestamp with time zone NOT NULL,
	CONSTRAINT "cash_out_provider_statuses_position" UNIQUE("session_id","position")
);
--> statement-breakpoint
CREATE TABLE "cash_out_reviews" (
	"id" uuid PRIMARY KEY NOT NULL,
	"session_id" uuid NOT NULL,
	"reason" text NOT NULL,
	"state_before" "cash_out_state" NOT NULL,
	"opened_at" timestamp with time zone NOT NULL,
	"decision" "cash_out_decision",
	"decided_by" text,
	"note" text,
	"closed_at" timestamp with time zone,
	CONSTRAINT "cash_out_reviews_decided_by" CHECK ((decision IS NULL) = (decided_by IS NULL) AND (decision IS NULL OR closed_at IS NOT NULL))
);
--> statement-breakpoint
CREATE TABLE "cash_out_sessions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"state" "cash_out_state" NOT NULL,
	"receipt_id" uuid NOT NULL,
	"token_address" text NOT NULL,
	"token_amount_kg" bigint NOT NULL,
	"requested_by" text NOT NULL,
	"farmer_id" text,
	"depositor_address" text NOT NULL,
	"settlement_address" text NOT NULL,
	"country_code" text NOT NULL,
	"payout_account_type" "payout_account_type" NOT NULL,
	"sealed_payout_account" text NOT NULL,
	"masked_account_number" text NOT NULL,
	"fiat_currency" text NOT NULL,
	"fiat_amount" numeric NOT NULL,
	"fee_fiat" numeric NOT NULL,
	"fee_bps" integer NOT NULL,
	"exchange_rate" numeric NOT NULL,
	"quote_expires_at" timestamp with time zone NOT NULL,
	"provider_name" text NOT NULL,
	"provider_asked_at" timestamp with time zone,
	"provider_session_id" text,
	"provider_status" "ramp_status",
	"deposit_tx_hash" text,
	"deposited_at" timestamp with time zone,
	"released_at" timestamp with time zone,
	"resolution" "cash_out_resolution",
	"resolution_tx_hash" text,
	"refusal_code" text,
	"refusal_message" text,
	"due_at" timestamp with time zone,
	"fruitless_steps" integer DEFAULT 0 NOT NULL,
	"hints" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"closed_at" timestamp with time zone,
	CONSTRAINT "cash_out_provider_session" UNIQUE("provider_name","provider_session_id"),
	CONSTRAINT "cash_out_amount_positive" CHECK (token_amount_kg > 0),
	CONSTRAINT "cash_out_fiat" CHECK (fiat_amount > 0 AND fee_fiat >= 0 AND exchange_rate > 0 AND fee_bps BETWEEN 0 AND 10000),
	CONSTRAINT "cash_out_known_at_provider" CHECK (provider_session_id IS NOT NULL OR state IN ('OPENING', 'REFUSED', 'NEEDS_REVIEW')),
	CONSTRAINT "cash_out_asked_first" CHECK (provider_session_id IS NULL OR provider_asked_at IS NOT NULL),
	CONSTRAINT "cash_out_resolved_by_decision" CHECK ((state <> 'CONFIRMING' OR coalesce(resolution = 'SETTLE', false))
        AND (state <> 'REFUNDING' OR coalesce(resolution = 'REFUND', false))),
	CONSTRAINT "cash_out_custody" CHECK (released_at IS NULL OR deposited_at IS NOT NULL),
	CONSTRAINT "cash_out_state_of_custody" CHECK (CASE
        WHEN state IN ('OPENING', 'DEPOSITING', 'CLOSING', 'REFUSED') THEN deposited_at IS NULL
        WHEN state IN ('AWAITING_PAYOUT', 'CONFIRMING', 'REFUNDING') THEN deposited_at IS NOT NULL AND released_at IS NULL
        WHEN state IN ('SETTLED', 'REFUNDED') THEN released_at IS NOT NULL
        ELSE true END),
	CONSTRAINT "cash_out_refused_says_why" CHECK (state <> 'REFUSED' OR refusal_message IS NOT NULL),
	CONSTRAINT "cash_out_closed_at" CHECK (state NOT IN ('SETTLED', 'REFUNDED', 'REFUSED') OR closed_at IS NOT NULL)
);
--> statement-breakpoint
CREATE TABLE "manual_ramp_sessions" (
	"id" text PRIMARY KEY NOT NULL,
	"reference" text NOT NULL,
	"status" "ramp_status" NOT NULL,
	"fiat_currency" text NOT NULL,
	"fiat_amount" numeric NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"changed_at" timestamp with time zone NOT NULL,
	CONSTRAINT "manual_ramp_sessions_reference" UNIQUE("reference")
);
--> statement-breakpoint
CREATE TABLE "settlement_deployments" (
	"id" uuid PRIMARY KEY NOT NULL,
	"state" "settlement_deployment_state" NOT NULL,
	"treasury_address" text NOT NULL,
	"deploy_salt" text NOT NULL,
	"settlement_address" text,
	"tx_hash" text,
	"refusal_message" text,
	"requested_by" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "settlement_deployments_address" CHECK ((state = 'DEPLOYED') = (settlement_address IS NOT NULL AND tx_hash IS NOT NULL))
);
--> statement-breakpoint
CREATE TABLE "receipts" (
	"id" uuid PRIMARY KEY NOT NULL,
	"state" "receipt_state" NOT NULL,
	"warehouse_id" text NOT NULL,
	"asset_millis" bigint NOT NULL,
	"asset_id" text NOT NULL,
	"commodity_type" text NOT NULL,
	"quantity_kg" bigint NOT NULL,
	"grade_classification" text NOT NULL,
	"warehouse_location" text NOT NULL,
	"harvest_season" text NOT NULL,
	"inspection_report_hash" text NOT NULL,
	"valuation_usd" bigint NOT NULL,
	"country_code" text NOT NULL,
	"token_name" text NOT NULL,
	"token_symbol" text NOT NULL,
	"farmer_address" text NOT NULL,
	"farmer_id" text,
	"confirmed_by" text NOT NULL,
	"deposit_date" bigint NOT NULL,
	"expiry_date" bigint NOT NULL,
	"deploy_salt" text NOT NULL,
	"token_address" text,
	"deploy_tx_hash" text,
	"mint_tx_hash" text,
	"expired_tx_hash" text,
	"refusal_message" text,
	"created_at" timestamp with time zone NOT NULL,
	"activated_at" timestamp with time zone,
	"expired_at" timestamp with time zone,
	CONSTRAINT "receipts_asset" UNIQUE("warehouse_id","asset_millis"),
	CONSTRAINT "receipts_quantity_positive" CHECK (quantity_kg > 0),
	CONSTRAINT "receipts_valuation_not_negative" CHECK (valuation_usd >= 0),
	CONSTRAINT "receipts_expires_later" CHECK (expiry_date > deposit_date),
	CONSTRAINT "receipts_asset_id" CHECK (asset_id = warehouse_id || '-' || asset_millis),
	CONSTRAINT "receipts_live_has_token" CHECK (state NOT IN ('MINTING', 'ACTIVE', 'EXPIRED') OR token_address IS NOT NULL),
	CONSTRAINT "receipts_active_was_minted" CHECK (state NOT IN ('ACTIVE', 'EXPIRED') OR activated_at IS NOT NULL),
	CONSTRAINT "receipts_expired_at" CHECK ((state = 'EXPIRED') = (expired_at IS NOT NULL))
);
--> statement-breakpoint
ALTER TABLE "submissions" DROP CONSTRAINT "submissions_intent";--> statement-breakpoint
ALTER TABLE "expiry_items" ADD CONSTRAINT "expiry_items_run_id_expiry_runs_id_fk" FOREIGN KEY ("run_id") REFERENCES "public"."expiry_runs"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "expiry_items" ADD CONSTRAINT "expiry_items_receipt_id_receipts_id_fk" FOREIGN KEY ("receipt_id") REFERENCES "public"."receipts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "cash_out_provider_statuses" ADD CONSTRAINT "cash_out_provider_statuses_session_id_cash_out_sessions_id_fk" FOREIGN KEY ("session_id") REFERENCES "public"."cash_out_sessions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "cash_out_reviews" ADD CONSTRAINT "cash_out_reviews_session_id_cash_out_sessions_id_fk" FOREIGN KEY ("session_id") REFERENCES "public"."cash_out_sessions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "cash_out_sessions" ADD CONSTRAINT "cash_out_sessions_receipt_id_receipts_id_fk" FOREIGN KEY ("receipt_id") REFERENCES "public"."receipts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "expiry_items_one_pending" ON "expiry_items" USING btree ("receipt_id") WHERE state = 'PENDING';--> statement-breakpoint
CREATE INDEX "expiry_items_receipt" ON "expiry_items" USING btree ("receipt_id");--> statement-breakpoint
CREATE UNIQUE INDEX "expiry_runs_night" ON "expiry_runs" USING btree ("night");--> statement-breakpoint
CREATE INDEX "expiry_runs_due" ON "expiry_runs" USING btree ("due_at") WHERE swept_at IS NULL;--> statement-breakpoint
CREATE INDEX "expiry_runs_started" ON "expiry_runs" USING btree ("started_at","id");--> statement-breakpoint
CREATE UNIQUE INDEX "cash_out_reviews_one_open" ON "cash_out_reviews" USING btree ("session_id") WHERE closed_at IS NULL;--> statement-breakpoint
CREATE INDEX "cash_out_reviews_session" ON "cash_out_reviews" USING btree ("session_id","opened_at");--> statement-breakpoint
CREATE INDEX "cash_out_due" ON "cash_out_sessions" USING btree ("due_at") WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX "cash_out_created" ON "cash_out_sessions" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "cash_out_requested_by" ON "cash_out_sessions" USING btree ("requested_by","created_at","id");--> statement-breakpoint
CREATE INDEX "cash_out_farmer" ON "cash_out_sessions" USING btree ("farmer_id","created_at","id");--> statement-breakpoint
CREATE INDEX "cash_out_receipt" ON "cash_out_sessions" USING btree ("receipt_id","created_at","id");--> statement-breakpoint
CREATE INDEX "cash_out_state" ON "cash_out_sessions" USING btree ("state","created_at","id");--> statement-breakpoint
CREATE UNIQUE INDEX "settlement_deployments_once" ON "settlement_deployments" USING btree ((true)) WHERE state <> 'REFUSED';--> statement-breakpoint
CREATE UNIQUE INDEX "receipts_token" ON "receipts" USING btree ("token_address");--> statement-breakpoint
CREATE INDEX "receipts_due" ON "receipts" USING btree ("expiry_date","id") WHERE state = 'ACTIVE';--> statement-breakpoint
CREATE INDEX "receipts_created" ON "receipts" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "receipts_farmer" ON "receipts" USING btree ("farmer_id","created_at","id");--> statement-breakpoint
CREATE INDEX "receipts_farmer_address" ON "receipts" USING btree ("farmer_address","created_at","id");--> statement-breakpoint
CREATE INDEX "receipts_warehouse" ON "receipts" USING btree ("warehouse_id","created_at","id");--> statement-breakpoint
CREATE UNIQUE INDEX "submissions_intent" ON "submissions" USING btree ("subject_id","kind") WHERE state <> 'REFUSED';--> statement-breakpoint
CREATE INDEX "submissions_subject" ON "submissions" USING btree ("subject_id");