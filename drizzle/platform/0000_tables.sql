CREATE TYPE "public"."approval_operation" AS ENUM('createProject', 'createDeposit', 'resolveSubmissionReview', 'resolveOffRampSessionReview', 'resumeSigning', 'setManualSessionStatus');--> statement-breakpoint
CREATE TYPE "public"."approval_state" AS ENUM('AWAITING', 'APPROVED', 'REFUSED', 'WITHDRAWN');--> statement-breakpoint
CREATE TYPE "public"."account_kind" AS ENUM('issuance', 'inventory', 'buyer', 'retiring', 'retired');--> statement-breakpoint
CREATE TYPE "public"."transfer_kind" AS ENUM('issue', 'purchase', 'retirement_hold', 'retirement_settle', 'retirement_return', 'credit_transfer');--> statement-breakpoint
CREATE TYPE "public"."audit_entry_kind" AS ENUM('MUTATION', 'READ');--> statement-breakpoint
CREATE TYPE "public"."expiry_item_state" AS ENUM('PENDING', 'EXPIRED', 'NOT_DUE', 'FAILED');--> statement-breakpoint
CREATE TYPE "public"."expiry_trigger" AS ENUM('NIGHTLY', 'CATCH_UP', 'MANUAL');--> statement-breakpoint
CREATE TYPE "public"."project_state" AS ENUM('DEPLOYING', 'MINTING', 'OPEN', 'REFUSED', 'NEEDS_REVIEW');--> statement-breakpoint
CREATE TYPE "public"."off_ramp_decision" AS ENUM('RETRY', 'CONFIRM', 'REFUND', 'ACCEPT');--> statement-breakpoint
CREATE TYPE "public"."off_ramp_deposit_seen" AS ENUM('PENDING', 'SETTLED', 'REFUNDED', 'RECORDED', 'NONE');--> statement-breakpoint
CREATE TYPE "public"."off_ramp_depositor" AS ENUM('CUSTODY', 'HOLDER');--> statement-breakpoint
CREATE TYPE "public"."off_ramp_resolution" AS ENUM('SETTLE', 'REFUND');--> statement-breakpoint
CREATE TYPE "public"."off_ramp_state" AS ENUM('OPENING', 'AWAITING_SIGNATURE', 'DEPOSITING', 'AWAITING_PAYOUT', 'CONFIRMING', 'REFUNDING', 'CLOSING', 'NEEDS_REVIEW', 'SETTLED', 'REFUNDED', 'CLOSED');--> statement-breakpoint
CREATE TYPE "public"."payout_account_type" AS ENUM('MOBILE_MONEY', 'BANK');--> statement-breakpoint
CREATE TYPE "public"."ramp_status" AS ENUM('pending', 'processing', 'settled', 'failed', 'refunded');--> statement-breakpoint
CREATE TYPE "public"."receipt_state" AS ENUM('DEPLOYING', 'MINTING', 'ACTIVE', 'EXPIRED', 'REFUSED', 'NEEDS_REVIEW');--> statement-breakpoint
CREATE TYPE "public"."retirement_reason" AS ENUM('VOLUNTARY_OFFSET', 'CONTRIBUTION', 'COMPLIANCE', 'CORSIA', 'ARTICLE_6');--> statement-breakpoint
CREATE TYPE "public"."retirement_state" AS ENUM('PENDING', 'RETIRED', 'REFUSED', 'NEEDS_REVIEW');--> statement-breakpoint
CREATE TYPE "public"."settlement_deployment_state" AS ENUM('DEPLOYING', 'DEPLOYED', 'REFUSED', 'NEEDS_REVIEW');--> statement-breakpoint
CREATE TYPE "public"."attempt_state" AS ENUM('OPEN', 'LANDED', 'REFUSED', 'DEAD');--> statement-breakpoint
CREATE TYPE "public"."operator_decision" AS ENUM('RESUME', 'ADOPT', 'GIVE_UP', 'RESUME_SIGNING');--> statement-breakpoint
CREATE TYPE "public"."review_cause" AS ENUM('SIGNING_HALTED', 'SIGNING_RESUMED', 'FOUND_ON_NETWORK', 'UNDETERMINABLE', 'ATTEMPTS_DIED', 'SETTLEMENT_FAILED', 'REFUSED');--> statement-breakpoint
CREATE TYPE "public"."submission_signer" AS ENUM('CUSTODY', 'HOLDER');--> statement-breakpoint
CREATE TYPE "public"."submission_state" AS ENUM('PENDING', 'SUCCEEDED', 'REFUSED', 'NEEDS_REVIEW');--> statement-breakpoint
CREATE TYPE "public"."submission_target" AS ENUM('PROJECT', 'RETIREMENT', 'RECEIPT', 'OFF_RAMP_SESSION', 'HOLDER_ACT', 'SETTLEMENT_DEPLOYMENT');--> statement-breakpoint
CREATE TABLE "approval_requests" (
	"id" uuid PRIMARY KEY NOT NULL,
	"operation" "approval_operation" NOT NULL,
	"input" jsonb NOT NULL,
	"target_id" uuid,
	"basis" text NOT NULL,
	"state" "approval_state" DEFAULT 'AWAITING' NOT NULL,
	"requested_by" text NOT NULL,
	"requested_with_key" uuid,
	"requested_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"decided_by" text,
	"decided_with_key" uuid,
	"decided_at" timestamp with time zone,
	"refusal_reason" text,
	CONSTRAINT "approval_requests_expiry" CHECK (expires_at > requested_at),
	CONSTRAINT "approval_requests_decided" CHECK ((state = 'AWAITING') = (decided_at IS NULL) AND (decided_at IS NULL) = (decided_by IS NULL)),
	CONSTRAINT "approval_requests_second_person" CHECK (state NOT IN ('APPROVED', 'REFUSED') OR decided_by <> requested_by),
	CONSTRAINT "approval_requests_withdrawn" CHECK (state <> 'WITHDRAWN' OR decided_by = requested_by),
	CONSTRAINT "approval_requests_refusal_reason" CHECK ((state IN ('REFUSED', 'WITHDRAWN')) = (refusal_reason IS NOT NULL)),
	CONSTRAINT "approval_requests_in_time" CHECK (state <> 'APPROVED' OR decided_at < expires_at)
);
--> statement-breakpoint
CREATE TABLE "accounts" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "accounts_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" uuid NOT NULL,
	"kind" "account_kind" NOT NULL,
	"owner_id" text NOT NULL,
	"balance_tonnes" bigint DEFAULT 0 NOT NULL,
	"version" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "accounts_identity" UNIQUE("project_id","kind","owner_id"),
	CONSTRAINT "accounts_sign" CHECK (CASE WHEN kind = 'issuance' THEN balance_tonnes <= 0 ELSE balance_tonnes >= 0 END),
	CONSTRAINT "accounts_owner_is_buyer" CHECK ((kind = 'buyer') = (owner_id <> ''))
);
--> statement-breakpoint
CREATE TABLE "transfers" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"kind" "transfer_kind" NOT NULL,
	"cause_id" uuid NOT NULL,
	"debit_account_id" bigint NOT NULL,
	"debit_version" bigint NOT NULL,
	"debit_balance_tonnes" bigint NOT NULL,
	"credit_account_id" bigint NOT NULL,
	"credit_version" bigint NOT NULL,
	"credit_balance_tonnes" bigint NOT NULL,
	"amount_tonnes" bigint NOT NULL,
	"price_per_tonne" numeric,
	"price_currency" text,
	"memo" text,
	"created_at" timestamp with time zone NOT NULL,
	"written_in" bigint DEFAULT (pg_current_xact_id()::text)::bigint NOT NULL,
	CONSTRAINT "transfers_debit" UNIQUE("debit_account_id","debit_version"),
	CONSTRAINT "transfers_credit" UNIQUE("credit_account_id","credit_version"),
	CONSTRAINT "transfers_positive" CHECK (amount_tonnes > 0),
	CONSTRAINT "transfers_two_sides" CHECK (debit_account_id <> credit_account_id),
	CONSTRAINT "transfers_own_cause" CHECK ((kind IN ('purchase', 'credit_transfer')) = (cause_id = id)),
	CONSTRAINT "transfers_memo" CHECK (memo IS NULL OR kind = 'credit_transfer'),
	CONSTRAINT "transfers_sign" CHECK (credit_balance_tonnes >= amount_tonnes
        AND CASE WHEN kind = 'issue' THEN debit_balance_tonnes <= -amount_tonnes ELSE debit_balance_tonnes >= 0 END),
	CONSTRAINT "transfers_price" CHECK ((price_per_tonne IS NULL) = (price_currency IS NULL) AND (price_per_tonne IS NULL OR kind = 'purchase'))
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
	"amount_base_units" numeric(39, 0) NOT NULL,
	"timestamp" bigint NOT NULL,
	"first_timestamp" bigint,
	"beneficiary" text NOT NULL,
	"note" text NOT NULL,
	"tx_hash" text,
	"is_claimed" boolean DEFAULT false NOT NULL,
	"appended_at" timestamp with time zone NOT NULL,
	CONSTRAINT "retirement_records_token_address_index_pk" PRIMARY KEY("token_address","index"),
	CONSTRAINT "retirement_records_position" UNIQUE("position"),
	CONSTRAINT "retirement_records_index" CHECK (index >= 0)
);
--> statement-breakpoint
CREATE TABLE "retirement_totals" (
	"project_id" uuid,
	"country_code" text,
	"vintage_year" integer,
	"day" bigint,
	"amount_base_units" numeric NOT NULL,
	"retirements" integer NOT NULL,
	CONSTRAINT "retirement_totals_cell" UNIQUE NULLS NOT DISTINCT("project_id","country_code","vintage_year","day")
);
--> statement-breakpoint
CREATE TABLE "holder_acts" (
	"id" uuid PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"call" jsonb NOT NULL,
	"holder_address" text NOT NULL,
	"prepared_by" text NOT NULL,
	"off_ramp_session_id" uuid,
	"project_id" uuid,
	"record_index" integer,
	"format" text NOT NULL,
	"payload" text NOT NULL,
	"valid_until" bigint,
	"prepared_at_ledger" bigint NOT NULL,
	"submission_id" uuid,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "holder_acts_session_of_deposit" CHECK ((kind = 'retire') = (off_ramp_session_id IS NULL)),
	CONSTRAINT "holder_acts_kind" CHECK (kind IN ('retire', 'setAllowance', 'depositOffRamp'))
);
--> statement-breakpoint
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
	"kind" "audit_entry_kind" NOT NULL,
	"writer_id" uuid NOT NULL,
	"number" bigint NOT NULL,
	"started_at" timestamp with time zone NOT NULL,
	"request_id" text NOT NULL,
	"caller_subject" text,
	"caller_roles" text[] NOT NULL,
	"api_key_id" uuid,
	"remote_address" text NOT NULL,
	"field" text NOT NULL,
	"outcome" text,
	"ended_at" timestamp with time zone,
	"target_ids" text[] NOT NULL,
	CONSTRAINT "audit_entries_number" UNIQUE("writer_id","number"),
	CONSTRAINT "audit_entries_outcome" CHECK ((outcome IS NULL) = (ended_at IS NULL)),
	CONSTRAINT "audit_entries_read" CHECK (kind <> 'READ' OR outcome IS NULL)
);
--> statement-breakpoint
CREATE TABLE "audit_prunings" (
	"writer_id" uuid NOT NULL,
	"from_number" bigint NOT NULL,
	"to_number" bigint NOT NULL,
	"sha256" "bytea" NOT NULL,
	"pruned_at" timestamp with time zone NOT NULL,
	CONSTRAINT "audit_prunings_writer_id_from_number_pk" PRIMARY KEY("writer_id","from_number"),
	CONSTRAINT "audit_prunings_numbers" CHECK (from_number BETWEEN 1 AND to_number),
	CONSTRAINT "audit_prunings_sha256" CHECK (octet_length(sha256) = 32)
);
--> statement-breakpoint
CREATE TABLE "audit_writers" (
	"id" uuid PRIMARY KEY NOT NULL,
	"started_at" timestamp with time zone NOT NULL,
	"program_version" text NOT NULL,
	"entries" bigint NOT NULL,
	"pruned" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "audit_writers_entries" CHECK (entries > 0),
	CONSTRAINT "audit_writers_pruned" CHECK (pruned BETWEEN 0 AND entries)
);
--> statement-breakpoint
CREATE TABLE "rate_limits" (
	"key" text PRIMARY KEY NOT NULL,
	"points" integer NOT NULL,
	"ends_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "token_revocations" (
	"id" uuid PRIMARY KEY NOT NULL,
	"jti" text,
	"subject" text,
	"issued_until" timestamp with time zone,
	"reason" text,
	"revoked_by" text NOT NULL,
	"revoked_at" timestamp with time zone NOT NULL,
	"ends_at" timestamp with time zone NOT NULL,
	CONSTRAINT "token_revocations_jti" UNIQUE("jti"),
	CONSTRAINT "token_revocations_subject" UNIQUE("subject"),
	CONSTRAINT "token_revocations_about" CHECK ((jti IS NULL) <> (subject IS NULL)),
	CONSTRAINT "token_revocations_subject_time" CHECK ((subject IS NULL) = (issued_until IS NULL))
);
--> statement-breakpoint
CREATE TABLE "indexer_events" (
	"id" text PRIMARY KEY NOT NULL,
	"token_address" text NOT NULL,
	"record_index" integer NOT NULL,
	"tx_hash" text NOT NULL,
	"received_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "indexer_registrations" (
	"id" uuid PRIMARY KEY NOT NULL,
	"url" text NOT NULL,
	"webhook_id" text NOT NULL,
	"sealed_secret" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"replaced_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "issuance_caps" (
	"id" uuid NOT NULL,
	"warehouse_id" text NOT NULL,
	"commodity_type" text NOT NULL,
	"commodity_key" text NOT NULL,
	"number" integer NOT NULL,
	"limit_kg" bigint,
	"set_by" text NOT NULL,
	"set_at" timestamp with time zone NOT NULL,
	CONSTRAINT "issuance_caps_id_number_pk" PRIMARY KEY("id","number"),
	CONSTRAINT "issuance_caps_number" UNIQUE("warehouse_id","commodity_key","number"),
	CONSTRAINT "issuance_caps_limit" CHECK (limit_kg > 0)
);
--> statement-breakpoint
CREATE TABLE "expiry_items" (
	"run_id" uuid NOT NULL,
	"receipt_id" uuid NOT NULL,
	"state" "expiry_item_state" NOT NULL,
	"message" text,
	"decided_at" timestamp with time zone,
	CONSTRAINT "expiry_items_run_id_receipt_id_pk" PRIMARY KEY("run_id","receipt_id"),
	CONSTRAINT "expiry_items_failed_says_why" CHECK (state <> 'FAILED' OR message IS NOT NULL),
	CONSTRAINT "expiry_items_decided" CHECK ((state = 'PENDING') = (decided_at IS NULL))
);
--> statement-breakpoint
CREATE TABLE "expiry_runs" (
	"id" uuid PRIMARY KEY NOT NULL,
	"trigger" "expiry_trigger" NOT NULL,
	"night" date,
	"requested_by" text,
	"started_at" timestamp with time zone NOT NULL,
	"swept_at" timestamp with time zone,
	"ended_at" timestamp with time zone,
	"due_at" timestamp with time zone,
	"fruitless_steps" integer DEFAULT 0 NOT NULL,
	"problem" text,
	CONSTRAINT "expiry_runs_night_or_manual" CHECK ((trigger = 'MANUAL') = (night IS NULL)),
	CONSTRAINT "expiry_runs_requested_or_scheduled" CHECK ((trigger = 'MANUAL') = (requested_by IS NOT NULL)),
	CONSTRAINT "expiry_runs_order" CHECK (ended_at IS NULL OR swept_at IS NOT NULL),
	CONSTRAINT "expiry_runs_due_until_swept" CHECK ((swept_at IS NULL) = (due_at IS NOT NULL))
);
--> statement-breakpoint
CREATE TABLE "reconciled_invariants" (
	"invariant" text PRIMARY KEY NOT NULL,
	"verdict" text NOT NULL,
	"findings" jsonb NOT NULL,
	"not_proved" jsonb NOT NULL,
	"database" text,
	"transaction" text,
	"agreed_at" timestamp with time zone,
	"compared_at" timestamp with time zone NOT NULL,
	"fully_compared_at" timestamp with time zone,
	CONSTRAINT "reconciled_invariants_verdict" CHECK (verdict IN ('HOLDS', 'BROKEN', 'NOT_PROVED')),
	CONSTRAINT "reconciled_invariants_snapshot" CHECK ((transaction IS NULL) = (database IS NULL) AND (transaction IS NULL) = (agreed_at IS NULL))
);
--> statement-breakpoint
CREATE TABLE "reconciliation_schedule" (
	"singleton" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"due_at" timestamp with time zone DEFAULT now() NOT NULL,
	"full_due_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "reconciliation_schedule_singleton" CHECK (singleton)
);
--> statement-breakpoint
CREATE TABLE "final_ledger" (
	"singleton" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"ledger" bigint NOT NULL,
	"hash" text,
	"closed_at" bigint,
	"acceptances" integer DEFAULT 0 NOT NULL,
	"seen_at" timestamp with time zone NOT NULL,
	"database_history" text,
	"resumed_at" timestamp with time zone,
	CONSTRAINT "final_ledger_singleton" CHECK (singleton)
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"caller_subject" text NOT NULL,
	"operation" text NOT NULL,
	"key" text NOT NULL,
	"input_hash" text NOT NULL,
	"target_id" uuid NOT NULL,
	CONSTRAINT "idempotency_keys_caller_subject_operation_key_pk" PRIMARY KEY("caller_subject","operation","key")
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
CREATE TABLE "receipt_pledges" (
	"id" uuid PRIMARY KEY NOT NULL,
	"receipt_id" uuid NOT NULL,
	"lender_name" text NOT NULL,
	"lender_id" text,
	"loan_reference" text NOT NULL,
	"pledged_by" text NOT NULL,
	"pledged_at" timestamp with time zone NOT NULL,
	"released_by" text,
	"released_at" timestamp with time zone,
	CONSTRAINT "receipt_pledges_released_by" CHECK ((released_at IS NULL) = (released_by IS NULL))
);
--> statement-breakpoint
CREATE TABLE "project_prices" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"number" integer NOT NULL,
	"price_per_tonne" numeric NOT NULL,
	"price_currency" text NOT NULL,
	"set_by" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "project_prices_number" UNIQUE("project_id","number"),
	CONSTRAINT "project_prices_form" CHECK (price_per_tonne > 0 AND price_per_tonne < 10::numeric ^ 16 AND scale(price_per_tonne) <= 8 AND price_currency ~ '^[A-Z]{3}$')
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
	"state_reason" text,
	"created_at" timestamp with time zone NOT NULL,
	"opened_at" timestamp with time zone,
	CONSTRAINT "projects_token" UNIQUE("token_address"),
	CONSTRAINT "projects_quantity_positive" CHECK (quantity_tonnes > 0),
	CONSTRAINT "projects_country_code" CHECK (country_code ~ '^[A-Z]{2}$'),
	CONSTRAINT "projects_open_has_token" CHECK (state NOT IN ('OPEN', 'MINTING') OR token_address IS NOT NULL),
	CONSTRAINT "projects_opened_at" CHECK (state <> 'OPEN' OR opened_at IS NOT NULL),
	CONSTRAINT "projects_refused_has_no_token" CHECK (state <> 'REFUSED' OR token_address IS NULL)
);
--> statement-breakpoint
CREATE TABLE "manual_ramp_sessions" (
	"id" text PRIMARY KEY NOT NULL,
	"reference" text NOT NULL,
	"fiat_currency" text NOT NULL,
	"fiat_amount" numeric NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "manual_ramp_sessions_reference" UNIQUE("reference"),
	CONSTRAINT "manual_ramp_sessions_fiat" CHECK (fiat_amount > 0 AND fiat_currency ~ '^[A-Z]{3}$')
);
--> statement-breakpoint
CREATE TABLE "manual_ramp_statuses" (
	"session_id" text NOT NULL,
	"number" integer NOT NULL,
	"status" "ramp_status" NOT NULL,
	"set_by" text,
	"payment_reference" text,
	"approval_request_id" uuid,
	"set_at" timestamp with time zone NOT NULL,
	CONSTRAINT "manual_ramp_statuses_session_id_number_pk" PRIMARY KEY("session_id","number"),
	CONSTRAINT "manual_ramp_statuses_number_positive" CHECK (number > 0),
	CONSTRAINT "manual_ramp_statuses_set_by" CHECK (set_by IS NOT NULL OR status = 'failed'),
	CONSTRAINT "manual_ramp_statuses_reference" CHECK (octet_length(payment_reference) BETWEEN 1 AND 128)
);
--> statement-breakpoint
CREATE TABLE "off_ramp_provider_statuses" (
	"off_ramp_session_id" uuid NOT NULL,
	"number" integer NOT NULL,
	"status" "ramp_status" NOT NULL,
	"observed_at" timestamp with time zone NOT NULL,
	CONSTRAINT "off_ramp_provider_statuses_off_ramp_session_id_number_pk" PRIMARY KEY("off_ramp_session_id","number"),
	CONSTRAINT "off_ramp_provider_statuses_number_positive" CHECK (number > 0)
);
--> statement-breakpoint
CREATE TABLE "off_ramp_reviews" (
	"id" uuid PRIMARY KEY NOT NULL,
	"off_ramp_session_id" uuid NOT NULL,
	"flagged_because" text NOT NULL,
	"state_before" "off_ramp_state" NOT NULL,
	"opened_at" timestamp with time zone NOT NULL,
	"decision" "off_ramp_decision",
	"decided_by" text,
	"reason" text,
	"approval_request_id" uuid,
	"closed_at" timestamp with time zone,
	"deposit_seen" "off_ramp_deposit_seen",
	"statuses_seen" integer,
	CONSTRAINT "off_ramp_reviews_decided_by" CHECK ((decision IS NULL) = (decided_by IS NULL) AND (decision IS NULL) = (reason IS NULL)
        AND (decision IS NULL OR closed_at IS NOT NULL)),
	CONSTRAINT "off_ramp_reviews_deposit_seen" CHECK ((decision IS NULL) = (deposit_seen IS NULL)),
	CONSTRAINT "off_ramp_reviews_approved" CHECK (approval_request_id IS NULL OR decision IS NOT NULL),
	CONSTRAINT "off_ramp_reviews_statuses_seen" CHECK ((closed_at IS NULL) = (statuses_seen IS NULL))
);
--> statement-breakpoint
CREATE TABLE "off_ramp_sessions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"state" "off_ramp_state" NOT NULL,
	"receipt_id" uuid NOT NULL,
	"token_address" text NOT NULL,
	"token_amount_kg" bigint NOT NULL,
	"requested_by" text NOT NULL,
	"farmer_id" text,
	"depositor" "off_ramp_depositor" NOT NULL,
	"depositor_address" text NOT NULL,
	"settlement_address" text NOT NULL,
	"signature_due_at" timestamp with time zone,
	"country_code" text NOT NULL,
	"payout_account_type" "payout_account_type" NOT NULL,
	"sealed_payout_account" text,
	"masked_account_number" text,
	"payout_account_erased_at" timestamp with time zone,
	"fiat_currency" text NOT NULL,
	"fiat_amount" numeric NOT NULL,
	"fiat_fee" numeric NOT NULL,
	"fee_bps" integer,
	"exchange_rate" numeric NOT NULL,
	"quote_expires_at" timestamp with time zone NOT NULL,
	"provider_name" text NOT NULL,
	"provider_asked_at" timestamp with time zone,
	"provider_session_id" text,
	"provider_status" "ramp_status",
	"deposit_tx_hash" text,
	"deposited_at" timestamp with time zone,
	"released_at" timestamp with time zone,
	"resolution" "off_ramp_resolution",
	"resolution_tx_hash" text,
	"refusal_code" text,
	"state_reason" text,
	"cancel_requested_at" timestamp with time zone,
	"cancel_requested_by" text,
	"review_version" uuid DEFAULT gen_random_uuid() NOT NULL,
	"due_at" timestamp with time zone,
	"fruitless_steps" integer DEFAULT 0 NOT NULL,
	"hints" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"ended_at" timestamp with time zone,
	CONSTRAINT "off_ramp_provider_session" UNIQUE("provider_name","provider_session_id"),
	CONSTRAINT "off_ramp_amount_positive" CHECK (token_amount_kg > 0),
	CONSTRAINT "off_ramp_country_code" CHECK (country_code ~ '^[A-Z]{2}$'),
	CONSTRAINT "off_ramp_fiat" CHECK (fiat_amount > 0 AND fiat_fee >= 0 AND exchange_rate > 0 AND fee_bps BETWEEN 0 AND 10000 AND fiat_currency ~ '^[A-Z]{3}$'),
	CONSTRAINT "off_ramp_known_at_provider" CHECK (provider_session_id IS NOT NULL OR state IN ('OPENING', 'CLOSED', 'NEEDS_REVIEW')),
	CONSTRAINT "off_ramp_asked_first" CHECK (provider_session_id IS NULL OR provider_asked_at IS NOT NULL),
	CONSTRAINT "off_ramp_resolved_by_decision" CHECK ((state <> 'CONFIRMING' OR coalesce(resolution = 'SETTLE', false))
        AND (state <> 'REFUNDING' OR coalesce(resolution = 'REFUND', false))),
	CONSTRAINT "off_ramp_custody" CHECK (released_at IS NULL OR deposited_at IS NOT NULL),
	CONSTRAINT "off_ramp_state_of_custody" CHECK (CASE
        WHEN state::text IN ('OPENING', 'AWAITING_SIGNATURE', 'DEPOSITING', 'CLOSING', 'CLOSED') THEN deposited_at IS NULL
        WHEN state::text IN ('AWAITING_PAYOUT', 'CONFIRMING', 'REFUNDING') THEN deposited_at IS NOT NULL AND released_at IS NULL
        WHEN state::text IN ('SETTLED', 'REFUNDED') THEN released_at IS NOT NULL
        ELSE true END),
	CONSTRAINT "off_ramp_holder_has_time" CHECK ((depositor = 'HOLDER') = (signature_due_at IS NOT NULL)),
	CONSTRAINT "off_ramp_signature_of_a_holder" CHECK (state::text <> 'AWAITING_SIGNATURE' OR depositor = 'HOLDER'),
	CONSTRAINT "off_ramp_erased_account" CHECK ((sealed_payout_account IS NULL) = (payout_account_erased_at IS NOT NULL)
        AND (masked_account_number IS NULL) = (payout_account_erased_at IS NOT NULL)),
	CONSTRAINT "off_ramp_cancelled_by" CHECK ((cancel_requested_at IS NULL) = (cancel_requested_by IS NULL)),
	CONSTRAINT "off_ramp_closed_says_why" CHECK (state <> 'CLOSED' OR state_reason IS NOT NULL),
	CONSTRAINT "off_ramp_ended_at" CHECK (state NOT IN ('SETTLED', 'REFUNDED', 'CLOSED') OR ended_at IS NOT NULL)
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
	"expired_tx_hash" text,
	"state_reason" text,
	"created_at" timestamp with time zone NOT NULL,
	"activated_at" timestamp with time zone,
	"expired_at" timestamp with time zone,
	CONSTRAINT "receipts_asset" UNIQUE("warehouse_id","asset_millis"),
	CONSTRAINT "receipts_quantity_positive" CHECK (quantity_kg > 0),
	CONSTRAINT "receipts_valuation_positive" CHECK (valuation_usd > 0),
	CONSTRAINT "receipts_country_code" CHECK (country_code ~ '^[A-Z]{2}$'),
	CONSTRAINT "receipts_inspection_report_hash" CHECK (length(inspection_report_hash) = 66 AND inspection_report_hash ~ '^0x[0-9a-f]*$'),
	CONSTRAINT "receipts_expires_later" CHECK (expiry_date > deposit_date),
	CONSTRAINT "receipts_asset_id" CHECK (asset_id = warehouse_id || '-' || asset_millis),
	CONSTRAINT "receipts_live_has_token" CHECK (state NOT IN ('MINTING', 'ACTIVE', 'EXPIRED') OR token_address IS NOT NULL),
	CONSTRAINT "receipts_active_was_minted" CHECK (state NOT IN ('ACTIVE', 'EXPIRED') OR activated_at IS NOT NULL),
	CONSTRAINT "receipts_expired_at" CHECK ((state = 'EXPIRED') = (expired_at IS NOT NULL))
);
--> statement-breakpoint
CREATE TABLE "retirements" (
	"id" uuid PRIMARY KEY NOT NULL,
	"project_id" uuid NOT NULL,
	"buyer_id" text NOT NULL,
	"beneficiary" text NOT NULL,
	"note" text NOT NULL,
	"beneficiary_id" text,
	"jurisdiction" text,
	"reason" "retirement_reason",
	"period_from" date,
	"period_until" date,
	"amount_tonnes" bigint NOT NULL,
	"state" "retirement_state" NOT NULL,
	"tx_hash" text,
	"record_index" integer,
	"ledger" bigint,
	"state_reason" text,
	"created_at" timestamp with time zone NOT NULL,
	"settled_at" timestamp with time zone,
	CONSTRAINT "retirements_record" UNIQUE("project_id","record_index"),
	CONSTRAINT "retirements_positive" CHECK (amount_tonnes > 0),
	CONSTRAINT "retirements_jurisdiction" CHECK (jurisdiction ~ '^[A-Z]{2}$'),
	CONSTRAINT "retirements_compliance" CHECK (reason <> 'COMPLIANCE' OR jurisdiction IS NOT NULL),
	CONSTRAINT "retirements_period" CHECK ((period_from IS NULL) = (period_until IS NULL) AND (period_from IS NULL OR period_from < period_until)),
	CONSTRAINT "retirements_retired_is_proved" CHECK ((state = 'RETIRED') = (record_index IS NOT NULL) AND (state = 'RETIRED' OR tx_hash IS NULL)),
	CONSTRAINT "retirements_settled_at" CHECK ((state IN ('RETIRED', 'REFUSED')) = (settled_at IS NOT NULL))
);
--> statement-breakpoint
CREATE TABLE "settlement_deployments" (
	"id" uuid PRIMARY KEY NOT NULL,
	"state" "settlement_deployment_state" NOT NULL,
	"treasury_address" text NOT NULL,
	"deploy_salt" text NOT NULL,
	"settlement_address" text,
	"state_reason" text,
	"requested_by" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "settlement_deployments_address" CHECK ((state = 'DEPLOYED') = (settlement_address IS NOT NULL))
);
--> statement-breakpoint
CREATE TABLE "attempts" (
	"hash" text PRIMARY KEY NOT NULL,
	"submission_id" uuid NOT NULL,
	"number" integer NOT NULL,
	"state" "attempt_state" NOT NULL,
	"source" text NOT NULL,
	"sequence" bigint,
	"replaces" text,
	"signed_bytes" "bytea" NOT NULL,
	"valid_until" bigint,
	"prepared_at_ledger" bigint NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"evidence" text,
	"ledger" bigint,
	"cause" text,
	"decided_at" timestamp with time zone,
	CONSTRAINT "attempts_number" UNIQUE("submission_id","number"),
	CONSTRAINT "attempts_number_positive" CHECK (number > 0),
	CONSTRAINT "attempts_decided_at" CHECK ((state = 'OPEN') = (decided_at IS NULL) AND (state = 'OPEN') = (evidence IS NULL)),
	CONSTRAINT "attempts_landed_in_ledger" CHECK (state <> 'LANDED' OR ledger IS NOT NULL)
);
--> statement-breakpoint
CREATE TABLE "operator_decisions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"submission_id" uuid,
	"decision" "operator_decision" NOT NULL,
	"decided_by" text NOT NULL,
	"reason" text NOT NULL,
	"basis" text NOT NULL,
	"approval_request_id" uuid,
	"decided_at" timestamp with time zone NOT NULL,
	CONSTRAINT "operator_decisions_of" CHECK ((decision = 'RESUME_SIGNING') = (submission_id IS NULL))
);
--> statement-breakpoint
CREATE TABLE "signing_accounts" (
	"address" text PRIMARY KEY NOT NULL,
	"next_sequence" bigint NOT NULL,
	"halted_because" text,
	"review_due_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "signing_halts" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"address" text NOT NULL,
	"because" text NOT NULL,
	"began_at" timestamp with time zone NOT NULL,
	"ended_at" timestamp with time zone,
	"decision_id" uuid,
	"replaced_ledger" bigint,
	"replaced_hash" text,
	"accepted_ledger" bigint,
	"accepted_hash" text,
	CONSTRAINT "signing_halts_end" CHECK (ended_at >= began_at),
	CONSTRAINT "signing_halts_accepted" CHECK (replaced_ledger IS NULL OR accepted_ledger IS NOT NULL)
);
--> statement-breakpoint
CREATE TABLE "submissions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"target_type" "submission_target" NOT NULL,
	"target_id" uuid NOT NULL,
	"call" jsonb NOT NULL,
	"signer" "submission_signer" DEFAULT 'CUSTODY' NOT NULL,
	"state" "submission_state" NOT NULL,
	"due_at" timestamp with time zone NOT NULL,
	"attempts_before_resume" integer DEFAULT 0 NOT NULL,
	"resumptions" integer DEFAULT 0 NOT NULL,
	"fruitless_steps" integer DEFAULT 0 NOT NULL,
	"failed_steps" integer DEFAULT 0 NOT NULL,
	"failed_settlements" integer DEFAULT 0 NOT NULL,
	"tx_hash" text,
	"result" jsonb,
	"refusal_reason" text,
	"state_reason" text,
	"review_cause" "review_cause",
	"adopted_outcome" text,
	"created_at" timestamp with time zone NOT NULL,
	"settled_at" timestamp with time zone,
	CONSTRAINT "submissions_succeeded_has_hash" CHECK (state <> 'SUCCEEDED' OR tx_hash IS NOT NULL OR adopted_outcome IS NOT NULL),
	CONSTRAINT "submissions_settled_at" CHECK ((state IN ('SUCCEEDED', 'REFUSED')) = (settled_at IS NOT NULL)),
	CONSTRAINT "submissions_kind" CHECK (kind IN ('deployCarbonCredit', 'deployCommodityReceipt', 'mint', 'retire', 'markExpired', 'deployRampSettlement',
        'setAllowance', 'depositOffRamp', 'confirmOffRampSettlement', 'refundOffRamp')),
	CONSTRAINT "submissions_review_has_cause" CHECK ((state = 'NEEDS_REVIEW') = (review_cause IS NOT NULL))
);
--> statement-breakpoint
CREATE TABLE "transparency_audit_writers" (
	"writer_id" uuid PRIMARY KEY NOT NULL,
	"number" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "transparency_checkpoints" (
	"log" text NOT NULL,
	"size" bigint NOT NULL,
	"checkpoint" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "transparency_checkpoints_log_size_pk" PRIMARY KEY("log","size"),
	CONSTRAINT "transparency_checkpoints_log" CHECK (log IN ('retirements', 'transfers', 'audit'))
);
--> statement-breakpoint
CREATE TABLE "transparency_heads" (
	"log" text PRIMARY KEY NOT NULL,
	"size" bigint NOT NULL,
	"root" "bytea" NOT NULL,
	"checkpoint" text NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	"written_in" bigint,
	"row_id" uuid,
	"database" text,
	CONSTRAINT "transparency_heads_log" CHECK (log IN ('retirements', 'transfers', 'audit')),
	CONSTRAINT "transparency_heads_size" CHECK (size >= 0),
	CONSTRAINT "transparency_heads_root" CHECK (octet_length(root) = 32)
);
--> statement-breakpoint
CREATE TABLE "transparency_open_entries" (
	"entry_id" uuid PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE TABLE "transparency_tiles" (
	"log" text NOT NULL,
	"level" integer NOT NULL,
	"index" bigint NOT NULL,
	"hashes" "bytea" NOT NULL,
	"row_ids" uuid[],
	CONSTRAINT "transparency_tiles_log_level_index_pk" PRIMARY KEY("log","level","index"),
	CONSTRAINT "transparency_tiles_log" CHECK (log IN ('retirements', 'transfers', 'audit')),
	CONSTRAINT "transparency_tiles_place" CHECK (level BETWEEN 0 AND 6 AND index >= 0),
	CONSTRAINT "transparency_tiles_width" CHECK (octet_length(hashes) % 32 = 0 AND octet_length(hashes) BETWEEN 32 AND 8192),
	CONSTRAINT "transparency_tiles_rows" CHECK (CASE WHEN level = 0 AND log <> 'retirements' THEN cardinality(row_ids) * 32 = octet_length(hashes) ELSE row_ids IS NULL END)
);
--> statement-breakpoint
ALTER TABLE "approval_requests" ADD CONSTRAINT "approval_requests_requested_with_key_api_keys_id_fk" FOREIGN KEY ("requested_with_key") REFERENCES "public"."api_keys"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "approval_requests" ADD CONSTRAINT "approval_requests_decided_with_key_api_keys_id_fk" FOREIGN KEY ("decided_with_key") REFERENCES "public"."api_keys"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "accounts" ADD CONSTRAINT "accounts_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "retirement_records" ADD CONSTRAINT "retirement_records_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "holder_acts" ADD CONSTRAINT "holder_acts_off_ramp_session_id_off_ramp_sessions_id_fk" FOREIGN KEY ("off_ramp_session_id") REFERENCES "public"."off_ramp_sessions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "holder_acts" ADD CONSTRAINT "holder_acts_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "holder_acts" ADD CONSTRAINT "holder_acts_submission_id_submissions_id_fk" FOREIGN KEY ("submission_id") REFERENCES "public"."submissions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "audit_prunings" ADD CONSTRAINT "audit_prunings_writer_id_audit_writers_id_fk" FOREIGN KEY ("writer_id") REFERENCES "public"."audit_writers"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "expiry_items" ADD CONSTRAINT "expiry_items_run_id_expiry_runs_id_fk" FOREIGN KEY ("run_id") REFERENCES "public"."expiry_runs"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "expiry_items" ADD CONSTRAINT "expiry_items_receipt_id_receipts_id_fk" FOREIGN KEY ("receipt_id") REFERENCES "public"."receipts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "receipt_pledges" ADD CONSTRAINT "receipt_pledges_receipt_id_receipts_id_fk" FOREIGN KEY ("receipt_id") REFERENCES "public"."receipts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "project_prices" ADD CONSTRAINT "project_prices_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "manual_ramp_statuses" ADD CONSTRAINT "manual_ramp_statuses_session_id_manual_ramp_sessions_id_fk" FOREIGN KEY ("session_id") REFERENCES "public"."manual_ramp_sessions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "manual_ramp_statuses" ADD CONSTRAINT "manual_ramp_statuses_approval_request_fk" FOREIGN KEY ("approval_request_id") REFERENCES "public"."approval_requests"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "off_ramp_provider_statuses" ADD CONSTRAINT "off_ramp_provider_statuses_session_fk" FOREIGN KEY ("off_ramp_session_id") REFERENCES "public"."off_ramp_sessions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "off_ramp_reviews" ADD CONSTRAINT "off_ramp_reviews_off_ramp_session_id_off_ramp_sessions_id_fk" FOREIGN KEY ("off_ramp_session_id") REFERENCES "public"."off_ramp_sessions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "off_ramp_reviews" ADD CONSTRAINT "off_ramp_reviews_approval_request_id_approval_requests_id_fk" FOREIGN KEY ("approval_request_id") REFERENCES "public"."approval_requests"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "off_ramp_sessions" ADD CONSTRAINT "off_ramp_sessions_receipt_id_receipts_id_fk" FOREIGN KEY ("receipt_id") REFERENCES "public"."receipts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "retirements" ADD CONSTRAINT "retirements_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "attempts" ADD CONSTRAINT "attempts_submission_id_submissions_id_fk" FOREIGN KEY ("submission_id") REFERENCES "public"."submissions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "attempts" ADD CONSTRAINT "attempts_replaces_attempts_hash_fk" FOREIGN KEY ("replaces") REFERENCES "public"."attempts"("hash") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "operator_decisions" ADD CONSTRAINT "operator_decisions_submission_id_submissions_id_fk" FOREIGN KEY ("submission_id") REFERENCES "public"."submissions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "operator_decisions" ADD CONSTRAINT "operator_decisions_approval_request_id_approval_requests_id_fk" FOREIGN KEY ("approval_request_id") REFERENCES "public"."approval_requests"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "signing_halts" ADD CONSTRAINT "signing_halts_address_signing_accounts_address_fk" FOREIGN KEY ("address") REFERENCES "public"."signing_accounts"("address") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "signing_halts" ADD CONSTRAINT "signing_halts_decision_id_operator_decisions_id_fk" FOREIGN KEY ("decision_id") REFERENCES "public"."operator_decisions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "transparency_audit_writers" ADD CONSTRAINT "transparency_audit_writers_writer_id_audit_writers_id_fk" FOREIGN KEY ("writer_id") REFERENCES "public"."audit_writers"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "transparency_open_entries" ADD CONSTRAINT "transparency_open_entries_entry_id_audit_entries_id_fk" FOREIGN KEY ("entry_id") REFERENCES "public"."audit_entries"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "approval_requests_requested" ON "approval_requests" USING btree ("requested_at","id");--> statement-breakpoint
CREATE INDEX "approval_requests_awaiting" ON "approval_requests" USING btree ("operation","target_id") WHERE state = 'AWAITING';--> statement-breakpoint
CREATE INDEX "accounts_owner" ON "accounts" USING btree ("owner_id") WHERE kind = 'buyer';--> statement-breakpoint
CREATE INDEX "transfers_written_in" ON "transfers" USING brin ("written_in") WITH (pages_per_range=64,autosummarize=true);--> statement-breakpoint
CREATE UNIQUE INDEX "transfers_once" ON "transfers" USING btree ("cause_id",(CASE WHEN kind = 'retirement_return' THEN 'retirement_settle'::transfer_kind ELSE kind END)) WHERE kind <> 'purchase';--> statement-breakpoint
CREATE INDEX "transfers_buyer_debited" ON "transfers" USING btree ("debit_account_id","created_at","debit_version") WHERE kind IN ('retirement_hold', 'credit_transfer');--> statement-breakpoint
CREATE INDEX "transfers_buyer_credited" ON "transfers" USING btree ("credit_account_id","created_at","credit_version") WHERE kind IN ('purchase', 'retirement_return', 'credit_transfer');--> statement-breakpoint
CREATE INDEX "transfers_serials" ON "transfers" USING btree ("credit_account_id","credit_balance_tonnes") WHERE kind = 'retirement_settle';--> statement-breakpoint
CREATE INDEX "retirement_records_token_position" ON "retirement_records" USING btree ("token_address","position");--> statement-breakpoint
CREATE INDEX "retirement_records_time" ON "retirement_records" USING btree ("timestamp","position");--> statement-breakpoint
CREATE INDEX "retirement_records_project_time" ON "retirement_records" USING btree ("project_id","timestamp","position");--> statement-breakpoint
CREATE INDEX "retirement_records_beneficiary_time" ON "retirement_records" USING btree (hashtextextended(beneficiary, 0),"timestamp","position");--> statement-breakpoint
CREATE INDEX "retirement_records_transaction" ON "retirement_records" USING btree ("tx_hash");--> statement-breakpoint
CREATE INDEX "retirement_records_unclaimed" ON "retirement_records" USING btree ("token_address","retired_by") WHERE NOT is_claimed;--> statement-breakpoint
CREATE INDEX "retirement_records_unknown_transaction" ON "retirement_records" USING btree ("position") WHERE tx_hash IS NULL;--> statement-breakpoint
CREATE INDEX "retirement_totals_day" ON "retirement_totals" USING btree ("day") WHERE project_id IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "holder_acts_submission" ON "holder_acts" USING btree ("submission_id") WHERE submission_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX "holder_acts_record" ON "holder_acts" USING btree ("project_id","record_index") WHERE record_index IS NOT NULL;--> statement-breakpoint
CREATE INDEX "holder_acts_unsigned" ON "holder_acts" USING btree ("prepared_by","created_at") WHERE kind = 'retire' AND submission_id IS NULL;--> statement-breakpoint
CREATE INDEX "holder_acts_session" ON "holder_acts" USING btree ("off_ramp_session_id","created_at","id") WHERE off_ramp_session_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX "api_keys_created" ON "api_keys" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "api_keys_subject" ON "api_keys" USING btree ("subject");--> statement-breakpoint
CREATE INDEX "audit_entries_started" ON "audit_entries" USING btree ("started_at","id");--> statement-breakpoint
CREATE INDEX "audit_entries_caller" ON "audit_entries" USING btree ("caller_subject","started_at","id");--> statement-breakpoint
CREATE INDEX "audit_entries_request" ON "audit_entries" USING btree ("request_id");--> statement-breakpoint
CREATE INDEX "audit_entries_targets" ON "audit_entries" USING gin ("target_ids") WITH (gin_pending_list_limit=256);--> statement-breakpoint
CREATE INDEX "rate_limits_ends_at" ON "rate_limits" USING btree ("ends_at");--> statement-breakpoint
CREATE INDEX "indexer_events_record" ON "indexer_events" USING btree ("token_address","record_index");--> statement-breakpoint
CREATE UNIQUE INDEX "indexer_registrations_one_live" ON "indexer_registrations" USING btree ((true)) WHERE replaced_at IS NULL;--> statement-breakpoint
CREATE INDEX "issuance_caps_set" ON "issuance_caps" USING btree ("set_at","id");--> statement-breakpoint
CREATE UNIQUE INDEX "expiry_items_one_pending" ON "expiry_items" USING btree ("receipt_id") WHERE state = 'PENDING';--> statement-breakpoint
CREATE INDEX "expiry_items_pending" ON "expiry_items" USING btree ("run_id") WHERE decided_at IS NULL;--> statement-breakpoint
CREATE INDEX "expiry_items_failed" ON "expiry_items" USING btree ("run_id","decided_at") WHERE state = 'FAILED';--> statement-breakpoint
CREATE UNIQUE INDEX "expiry_runs_night" ON "expiry_runs" USING btree ("night");--> statement-breakpoint
CREATE INDEX "expiry_runs_due" ON "expiry_runs" USING btree ("due_at") WHERE swept_at IS NULL;--> statement-breakpoint
CREATE INDEX "expiry_runs_started" ON "expiry_runs" USING btree ("started_at","id");--> statement-breakpoint
CREATE UNIQUE INDEX "receipt_pledges_one_open" ON "receipt_pledges" USING btree ("receipt_id") WHERE released_at IS NULL;--> statement-breakpoint
CREATE INDEX "receipt_pledges_lender" ON "receipt_pledges" USING btree ("lender_id") WHERE released_at IS NULL;--> statement-breakpoint
CREATE INDEX "receipt_pledges_receipt" ON "receipt_pledges" USING btree ("receipt_id","pledged_at","id");--> statement-breakpoint
CREATE UNIQUE INDEX "projects_asset_once" ON "projects" USING btree ("asset_key") WHERE state <> 'REFUSED';--> statement-breakpoint
CREATE INDEX "projects_created" ON "projects" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "projects_country" ON "projects" USING btree ("country_code","created_at","id");--> statement-breakpoint
CREATE INDEX "projects_vintage" ON "projects" USING btree ("vintage_year","created_at","id");--> statement-breakpoint
CREATE INDEX "projects_by_vintage" ON "projects" USING btree ("vintage_year","id");--> statement-breakpoint
CREATE INDEX "projects_by_quantity" ON "projects" USING btree ("quantity_tonnes","id");--> statement-breakpoint
CREATE UNIQUE INDEX "off_ramp_reviews_one_open" ON "off_ramp_reviews" USING btree ("off_ramp_session_id") WHERE closed_at IS NULL;--> statement-breakpoint
CREATE INDEX "off_ramp_reviews_session" ON "off_ramp_reviews" USING btree ("off_ramp_session_id","opened_at");--> statement-breakpoint
CREATE UNIQUE INDEX "off_ramp_deposit" ON "off_ramp_sessions" USING btree ("settlement_address","provider_session_id") WHERE deposited_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX "off_ramp_due" ON "off_ramp_sessions" USING btree ("due_at") WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX "off_ramp_created" ON "off_ramp_sessions" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "off_ramp_farmer" ON "off_ramp_sessions" USING btree ("farmer_id","created_at","id");--> statement-breakpoint
CREATE INDEX "off_ramp_receipt" ON "off_ramp_sessions" USING btree ("receipt_id","created_at","id");--> statement-breakpoint
CREATE INDEX "off_ramp_state" ON "off_ramp_sessions" USING btree ("state","created_at","id");--> statement-breakpoint
CREATE UNIQUE INDEX "receipts_token" ON "receipts" USING btree ("token_address");--> statement-breakpoint
CREATE INDEX "receipts_due" ON "receipts" USING btree ("expiry_date","id") WHERE state = 'ACTIVE';--> statement-breakpoint
CREATE INDEX "receipts_created" ON "receipts" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "receipts_farmer" ON "receipts" USING btree ("farmer_id","created_at","id");--> statement-breakpoint
CREATE INDEX "receipts_farmer_address" ON "receipts" USING btree ("farmer_address","created_at","id");--> statement-breakpoint
CREATE INDEX "receipts_warehouse" ON "receipts" USING btree ("warehouse_id","created_at","id");--> statement-breakpoint
CREATE INDEX "receipts_state" ON "receipts" USING btree ("state","created_at","id");--> statement-breakpoint
CREATE INDEX "receipts_outstanding" ON "receipts" USING btree ("warehouse_id") WHERE state NOT IN ('EXPIRED', 'REFUSED');--> statement-breakpoint
CREATE INDEX "retirements_buyer" ON "retirements" USING btree ("buyer_id","created_at","id");--> statement-breakpoint
CREATE INDEX "retirements_project" ON "retirements" USING btree ("project_id","created_at","id");--> statement-breakpoint
CREATE INDEX "retirements_created" ON "retirements" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "retirements_not_retired" ON "retirements" USING btree ("created_at","id") WHERE state <> 'RETIRED';--> statement-breakpoint
CREATE UNIQUE INDEX "settlement_deployments_once" ON "settlement_deployments" USING btree ((true)) WHERE state <> 'REFUSED';--> statement-breakpoint
CREATE UNIQUE INDEX "attempts_one_open" ON "attempts" USING btree ("submission_id") WHERE state = 'OPEN' AND replaces IS NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "attempts_slot" ON "attempts" USING btree ("source","sequence",(CASE WHEN state = 'DEAD' OR replaces IS NOT NULL THEN hash ELSE '' END)) WHERE sequence IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "attempts_replaces" ON "attempts" USING btree ("replaces") WHERE replaces IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "attempts_one_landed" ON "attempts" USING btree ("submission_id") WHERE state = 'LANDED';--> statement-breakpoint
CREATE INDEX "operator_decisions_submission" ON "operator_decisions" USING btree ("submission_id","decided_at");--> statement-breakpoint
CREATE INDEX "signing_halts_open" ON "signing_halts" USING btree ("address") WHERE ended_at IS NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "submissions_intent" ON "submissions" USING btree ("target_id","kind",(CASE WHEN state = 'REFUSED' OR (kind = 'setAllowance' AND state = 'SUCCEEDED') THEN id ELSE '00000000-0000-0000-0000-000000000000'::uuid END));--> statement-breakpoint
CREATE INDEX "submissions_due" ON "submissions" USING btree ("due_at") WHERE state = 'PENDING';--> statement-breakpoint
CREATE INDEX "submissions_created" ON "submissions" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "submissions_review" ON "submissions" USING btree ("created_at","id") WHERE state = 'NEEDS_REVIEW';--> statement-breakpoint
CREATE VIEW "public"."credit_transfers" AS (
  SELECT t.id, t.project_id, d.owner_id AS from_buyer_id, c.owner_id AS to_buyer_id, t.amount_tonnes, t.memo, t.created_at
  FROM transfers t JOIN accounts d ON d.id = t.debit_account_id JOIN accounts c ON c.id = t.credit_account_id
  WHERE t.kind::text = 'credit_transfer');--> statement-breakpoint
CREATE VIEW "public"."entries" AS (
  SELECT debit_account_id AS account_id, debit_version AS version, id AS transfer_id, kind, cause_id,
    -amount_tonnes AS amount_tonnes, debit_balance_tonnes + amount_tonnes AS balance_before_tonnes,
    debit_balance_tonnes AS balance_after_tonnes, created_at
  FROM transfers
  UNION ALL
  SELECT credit_account_id, credit_version, id, kind, cause_id,
    amount_tonnes, credit_balance_tonnes - amount_tonnes, credit_balance_tonnes, created_at
  FROM transfers);--> statement-breakpoint
CREATE VIEW "public"."purchases" AS (
  SELECT t.id, t.project_id, a.owner_id AS buyer_id, t.amount_tonnes, t.price_per_tonne, t.price_currency, t.created_at
  FROM transfers t JOIN accounts a ON a.id = t.credit_account_id
  WHERE t.kind::text = 'purchase');