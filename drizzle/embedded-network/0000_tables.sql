CREATE SCHEMA "embedded_network";
--> statement-breakpoint
CREATE TABLE "embedded_network"."balances" (
	"token_address" text NOT NULL,
	"holder" text NOT NULL,
	"amount" numeric(39, 0) NOT NULL,
	CONSTRAINT "balances_token_address_holder_pk" PRIMARY KEY("token_address","holder")
);
--> statement-breakpoint
CREATE TABLE "embedded_network"."events" (
	"sequence" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "embedded_network"."events_sequence_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"id" text NOT NULL,
	"contract" text NOT NULL,
	"event_type" text NOT NULL,
	"ledger" bigint NOT NULL,
	"tx_hash" text NOT NULL,
	"timestamp" bigint NOT NULL,
	"data" jsonb NOT NULL,
	CONSTRAINT "events_id_unique" UNIQUE("id")
);
--> statement-breakpoint
CREATE TABLE "embedded_network"."indexer_cursor" (
	"singleton" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"sequence" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "embedded_network"."ledger_clock" (
	"singleton" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"network_id" text NOT NULL,
	"sequence" bigint NOT NULL,
	"closed_at" bigint NOT NULL,
	"offset_seconds" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "embedded_network"."off_ramps" (
	"settlement_address" text NOT NULL,
	"reference_id" text NOT NULL,
	"depositor" text NOT NULL,
	"token_address" text NOT NULL,
	"amount" numeric(39, 0) NOT NULL,
	"status" text NOT NULL,
	CONSTRAINT "off_ramps_settlement_address_reference_id_pk" PRIMARY KEY("settlement_address","reference_id")
);
--> statement-breakpoint
CREATE TABLE "embedded_network"."retirements" (
	"token_address" text NOT NULL,
	"index" integer NOT NULL,
	"retired_by" text NOT NULL,
	"amount" numeric(39, 0) NOT NULL,
	"timestamp" bigint NOT NULL,
	"beneficiary" text NOT NULL,
	"note" text NOT NULL,
	CONSTRAINT "retirements_token_address_index_pk" PRIMARY KEY("token_address","index")
);
--> statement-breakpoint
CREATE TABLE "embedded_network"."settlements" (
	"address" text PRIMARY KEY NOT NULL,
	"admin" text NOT NULL,
	"treasury" text NOT NULL,
	"paused" boolean NOT NULL
);
--> statement-breakpoint
CREATE TABLE "embedded_network"."tokens" (
	"address" text PRIMARY KEY NOT NULL,
	"template" text NOT NULL,
	"admin" text NOT NULL,
	"symbol" text NOT NULL,
	"paused" boolean NOT NULL,
	"status" text NOT NULL,
	"expiry_date" numeric(39, 0),
	"total_supply" numeric(39, 0) NOT NULL,
	"total_retired" numeric(39, 0) NOT NULL,
	"total_retirements" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "embedded_network"."transactions" (
	"hash" text PRIMARY KEY NOT NULL,
	"ledger" bigint NOT NULL,
	"signed_bytes" "bytea" NOT NULL,
	"result" jsonb,
	"refusal_reason" text,
	"refusal_message" text
);
--> statement-breakpoint
CREATE TABLE "embedded_network"."webhooks" (
	"id" text PRIMARY KEY NOT NULL,
	"url" text NOT NULL,
	"events" jsonb NOT NULL,
	"secret" text NOT NULL,
	"after_sequence" bigint NOT NULL,
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
ALTER TABLE "embedded_network"."balances" ADD CONSTRAINT "balances_token_address_tokens_address_fk" FOREIGN KEY ("token_address") REFERENCES "embedded_network"."tokens"("address") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "embedded_network"."events" ADD CONSTRAINT "events_tx_hash_transactions_hash_fk" FOREIGN KEY ("tx_hash") REFERENCES "embedded_network"."transactions"("hash") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "embedded_network"."off_ramps" ADD CONSTRAINT "off_ramps_settlement_address_settlements_address_fk" FOREIGN KEY ("settlement_address") REFERENCES "embedded_network"."settlements"("address") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "embedded_network"."off_ramps" ADD CONSTRAINT "off_ramps_token_address_tokens_address_fk" FOREIGN KEY ("token_address") REFERENCES "embedded_network"."tokens"("address") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "embedded_network"."retirements" ADD CONSTRAINT "retirements_token_address_tokens_address_fk" FOREIGN KEY ("token_address") REFERENCES "embedded_network"."tokens"("address") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "events_contract" ON "embedded_network"."events" USING btree ("contract","sequence");