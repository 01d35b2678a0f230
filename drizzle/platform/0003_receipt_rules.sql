-- What receipts, cash-outs and expiry runs may never do, whatever a program does.

-- One rule for rows with a life: `fixed` columns stay as they were inserted, `once` columns are set once, and
-- `state` moves along the arrows named, no others. The arguments are lists separated by spaces.
CREATE FUNCTION hold_row_rules() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  before jsonb := to_jsonb(OLD);
  after jsonb := to_jsonb(NEW);
  name text;
BEGIN
  FOREACH name IN ARRAY string_to_array(TG_ARGV[0], ' ') LOOP
    IF before -> name IS DISTINCT FROM after -> name THEN
      RAISE EXCEPTION '% of % % is fixed once written', name, TG_TABLE_NAME, before ->> 'id'
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
  END LOOP;
  FOREACH name IN ARRAY string_to_array(TG_ARGV[1], ' ') LOOP
    IF before ->> name IS NOT NULL AND before -> name IS DISTINCT FROM after -> name THEN
      RAISE EXCEPTION '% of % % is set once', name, TG_TABLE_NAME, before ->> 'id'
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
  END LOOP;
  IF before ->> 'state' IS DISTINCT FROM after ->> 'state'
     AND NOT (before ->> 'state') || '>' || (after ->> 'state') = ANY (string_to_array(TG_ARGV[2], ' ')) THEN
    RAISE EXCEPTION '% % can''t go from % to %', TG_TABLE_NAME, before ->> 'id', before ->> 'state', after ->> 'state'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint

CREATE TRIGGER receipts_rules BEFORE UPDATE ON receipts FOR EACH ROW EXECUTE FUNCTION hold_row_rules(
  'id warehouse_id asset_millis asset_id commodity_type quantity_kg grade_classification warehouse_location harvest_season inspection_report_hash valuation_usd country_code token_name token_symbol farmer_address farmer_id confirmed_by deposit_date expiry_date deploy_salt created_at',
  'token_address deploy_tx_hash mint_tx_hash expired_tx_hash activated_at expired_at',
  'DEPLOYING>MINTING DEPLOYING>REFUSED DEPLOYING>NEEDS_REVIEW MINTING>ACTIVE MINTING>NEEDS_REVIEW ACTIVE>EXPIRED NEEDS_REVIEW>DEPLOYING NEEDS_REVIEW>MINTING NEEDS_REVIEW>ACTIVE NEEDS_REVIEW>REFUSED');
--> statement-breakpoint
CREATE TRIGGER receipts_no_delete BEFORE DELETE ON receipts FOR EACH ROW EXECUTE FUNCTION refuse_change();
--> statement-breakpoint

CREATE TRIGGER cash_out_sessions_rules BEFORE UPDATE ON cash_out_sessions FOR EACH ROW EXECUTE FUNCTION hold_row_rules(
  'id receipt_id token_address token_amount_kg requested_by farmer_id depositor_address settlement_address country_code payout_account_type sealed_payout_account masked_account_number fiat_currency fiat_amount fee_fiat fee_bps exchange_rate quote_expires_at provider_name created_at',
  'provider_asked_at provider_session_id deposit_tx_hash deposited_at released_at resolution resolution_tx_hash',
  'OPENING>DEPOSITING OPENING>CLOSING OPENING>REFUSED DEPOSITING>AWAITING_PAYOUT DEPOSITING>CLOSING DEPOSITING>NEEDS_REVIEW AWAITING_PAYOUT>CONFIRMING AWAITING_PAYOUT>REFUNDING AWAITING_PAYOUT>NEEDS_REVIEW CONFIRMING>SETTLED CONFIRMING>NEEDS_REVIEW REFUNDING>REFUNDED REFUNDING>NEEDS_REVIEW CLOSING>REFUSED CLOSING>DEPOSITING CLOSING>AWAITING_PAYOUT CLOSING>NEEDS_REVIEW SETTLED>NEEDS_REVIEW REFUNDED>NEEDS_REVIEW REFUSED>NEEDS_REVIEW NEEDS_REVIEW>DEPOSITING NEEDS_REVIEW>AWAITING_PAYOUT NEEDS_REVIEW>CONFIRMING NEEDS_REVIEW>REFUNDING NEEDS_REVIEW>CLOSING NEEDS_REVIEW>SETTLED NEEDS_REVIEW>REFUNDED NEEDS_REVIEW>REFUSED');
--> statement-breakpoint
CREATE TRIGGER cash_out_sessions_no_delete BEFORE DELETE ON cash_out_sessions FOR EACH ROW EXECUTE FUNCTION refuse_change();
--> statement-breakpoint
CREATE TRIGGER cash_out_provider_statuses_append_only BEFORE UPDATE OR DELETE ON cash_out_provider_statuses FOR EACH ROW EXECUTE FUNCTION refuse_change();
--> statement-breakpoint
CREATE TRIGGER cash_out_reviews_rules BEFORE UPDATE ON cash_out_reviews FOR EACH ROW EXECUTE FUNCTION hold_row_rules(
  'id session_id reason state_before opened_at', 'decision decided_by note closed_at', '');
--> statement-breakpoint
CREATE TRIGGER cash_out_reviews_no_delete BEFORE DELETE ON cash_out_reviews FOR EACH ROW EXECUTE FUNCTION refuse_change();
--> statement-breakpoint
CREATE TRIGGER manual_ramp_sessions_rules BEFORE UPDATE ON manual_ramp_sessions FOR EACH ROW EXECUTE FUNCTION hold_row_rules(
  'id reference fiat_currency fiat_amount created_at', '', '');
--> statement-breakpoint
CREATE TRIGGER settlement_deployments_rules BEFORE UPDATE ON settlement_deployments FOR EACH ROW EXECUTE FUNCTION hold_row_rules(
  'id treasury_address deploy_salt requested_by created_at', 'settlement_address tx_hash',
  'DEPLOYING>DEPLOYED DEPLOYING>REFUSED DEPLOYING>NEEDS_REVIEW NEEDS_REVIEW>DEPLOYING NEEDS_REVIEW>DEPLOYED NEEDS_REVIEW>REFUSED');
--> statement-breakpoint

CREATE TRIGGER expiry_runs_rules BEFORE UPDATE ON expiry_runs FOR EACH ROW EXECUTE FUNCTION hold_row_rules(
  'id trigger night requested_by started_at', 'swept_at finished_at', '');
--> statement-breakpoint
CREATE TRIGGER expiry_items_rules BEFORE UPDATE ON expiry_items FOR EACH ROW EXECUTE FUNCTION hold_row_rules(
  'run_id receipt_id examined_at', 'tx_hash decided_at', 'PENDING>EXPIRED PENDING>FAILED');
--> statement-breakpoint
CREATE TRIGGER expiry_items_no_delete BEFORE DELETE ON expiry_items FOR EACH ROW EXECUTE FUNCTION refuse_change();
