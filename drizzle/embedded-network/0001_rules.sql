-- The contracts' rules that columns can't express. The network's storage enforces them for every program.

-- Balances and totals are i128: from 0 to 2^127 - 1.
ALTER TABLE embedded_network.balances ADD CONSTRAINT balances_amount
  CHECK (amount >= 0 AND amount <= 170141183460469231731687303715884105727);
--> statement-breakpoint
ALTER TABLE embedded_network.tokens ADD CONSTRAINT tokens_totals
  CHECK (total_supply >= 0 AND total_retired >= 0 AND total_retirements >= 0
    AND total_supply + total_retired <= 170141183460469231731687303715884105727);
--> statement-breakpoint
ALTER TABLE embedded_network.tokens ADD CONSTRAINT tokens_template
  CHECK ((template = 'carbon-credit' AND expiry_date IS NULL) OR (template = 'commodity' AND expiry_date >= 0));
--> statement-breakpoint
ALTER TABLE embedded_network.tokens ADD CONSTRAINT tokens_status
  CHECK (status IN ('DRAFT', 'ACTIVE', 'SUSPENDED', 'REDEEMED', 'EXPIRED'));
--> statement-breakpoint
ALTER TABLE embedded_network.tokens ADD CONSTRAINT tokens_only_carbon_retires
  CHECK (template = 'carbon-credit' OR (total_retired = 0 AND total_retirements = 0));
--> statement-breakpoint
ALTER TABLE embedded_network.retirements ADD CONSTRAINT retirements_sane CHECK (index >= 0 AND amount > 0);
--> statement-breakpoint
ALTER TABLE embedded_network.off_ramps ADD CONSTRAINT off_ramps_sane
  CHECK (amount > 0 AND status IN ('PENDING', 'SETTLED', 'REFUNDED', 'RECORDED'));
--> statement-breakpoint

-- A landed transaction has either a result or a refusal.
ALTER TABLE embedded_network.transactions ADD CONSTRAINT transactions_result_or_refusal
  CHECK ((result IS NULL) <> (refusal_reason IS NULL) AND (refusal_reason IS NULL) = (refusal_message IS NULL));
--> statement-breakpoint
ALTER TABLE embedded_network.ledger_clock ADD CONSTRAINT ledger_clock_singleton CHECK (singleton);
--> statement-breakpoint
ALTER TABLE embedded_network.indexer_cursor ADD CONSTRAINT indexer_cursor_singleton CHECK (singleton);
--> statement-breakpoint
INSERT INTO embedded_network.indexer_cursor (sequence) VALUES (0);
--> statement-breakpoint

CREATE FUNCTION embedded_network.refuse_change() RETURNS trigger LANGUAGE plpgsql
SET search_path = embedded_network, pg_temp AS $$
BEGIN
  RAISE EXCEPTION '% refuses this %', TG_TABLE_NAME, TG_OP USING ERRCODE = 'integrity_constraint_violation';
END $$;
--> statement-breakpoint

-- The network's time and its ledger numbers never go backwards, and a network keeps its identity.
CREATE TRIGGER ledger_clock_forward BEFORE UPDATE ON embedded_network.ledger_clock FOR EACH ROW
  WHEN (NEW.sequence < OLD.sequence OR NEW.closed_at < OLD.closed_at OR NEW.network_id <> OLD.network_id)
  EXECUTE FUNCTION embedded_network.refuse_change();
--> statement-breakpoint

-- A resolved deposit stays resolved, and its terms never change.
CREATE TRIGGER off_ramps_keep BEFORE UPDATE ON embedded_network.off_ramps FOR EACH ROW
  WHEN (OLD.status <> 'PENDING' OR NEW.depositor <> OLD.depositor OR NEW.token_address <> OLD.token_address
    OR NEW.amount <> OLD.amount) EXECUTE FUNCTION embedded_network.refuse_change();
--> statement-breakpoint

-- History is append-only: retirement records, landed transactions, events.
CREATE TRIGGER retirements_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON embedded_network.retirements
  FOR EACH STATEMENT EXECUTE FUNCTION embedded_network.refuse_change();
--> statement-breakpoint
CREATE TRIGGER transactions_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON embedded_network.transactions
  FOR EACH STATEMENT EXECUTE FUNCTION embedded_network.refuse_change();
--> statement-breakpoint
CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON embedded_network.events
  FOR EACH STATEMENT EXECUTE FUNCTION embedded_network.refuse_change();
