-- What acts of holders with a wallet of their own, and the cash-outs that wait for them, may never do.

-- What was given out to be signed stays as it was given out; it is submitted once.
CREATE TRIGGER holder_acts_rules BEFORE UPDATE ON holder_acts FOR EACH ROW EXECUTE FUNCTION hold_row_rules(
  'id kind call holder prepared_by cash_out_session_id format payload valid_until prepared_at_ledger created_at',
  'submission_id', '');
--> statement-breakpoint
CREATE TRIGGER holder_acts_no_delete BEFORE DELETE ON holder_acts FOR EACH ROW EXECUTE FUNCTION refuse_change();
--> statement-breakpoint

-- As before, and whose key signs is part of the intent.
CREATE OR REPLACE FUNCTION check_submission_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.state IN ('SUCCEEDED', 'REFUSED') THEN
    RAISE EXCEPTION 'submission % is settled', OLD.id USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF (NEW.id, NEW.kind, NEW.subject_id, NEW.call, NEW.signer)
     IS DISTINCT FROM (OLD.id, OLD.kind, OLD.subject_id, OLD.call, OLD.signer) THEN
    RAISE EXCEPTION 'the intent of submission % is fixed', OLD.id USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint

-- Custody never deposits for a holder, nor a holder for custody.
CREATE FUNCTION check_depositor() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM cash_out_sessions c
      WHERE c.id = NEW.subject_id AND (c.sign_until IS NULL) <> (NEW.signer = 'CUSTODY')) THEN
    RAISE EXCEPTION 'the deposit of cash-out % is not to be signed by %', NEW.subject_id, NEW.signer
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER submissions_depositor BEFORE INSERT ON submissions
  FOR EACH ROW WHEN (NEW.kind IN ('approve', 'initiateOffRamp')) EXECUTE FUNCTION check_depositor();
--> statement-breakpoint

-- As before, with the ways of a deposit that a holder signs; and who deposits never changes.
DROP TRIGGER cash_out_sessions_rules ON cash_out_sessions;
--> statement-breakpoint
CREATE TRIGGER cash_out_sessions_rules BEFORE UPDATE ON cash_out_sessions FOR EACH ROW EXECUTE FUNCTION hold_row_rules(
  'id receipt_id token_address token_amount_kg requested_by farmer_id depositor_address settlement_address country_code payout_account_type sealed_payout_account masked_account_number fiat_currency fiat_amount fee_fiat fee_bps exchange_rate quote_expires_at provider_name created_at',
  'provider_asked_at provider_session_id deposit_tx_hash deposited_at released_at resolution resolution_tx_hash',
  'OPENING>DEPOSITING OPENING>AWAITING_SIGNATURE OPENING>CLOSING OPENING>REFUSED AWAITING_SIGNATURE>DEPOSITING AWAITING_SIGNATURE>AWAITING_PAYOUT AWAITING_SIGNATURE>CLOSING AWAITING_SIGNATURE>NEEDS_REVIEW DEPOSITING>AWAITING_SIGNATURE DEPOSITING>AWAITING_PAYOUT DEPOSITING>CLOSING DEPOSITING>NEEDS_REVIEW AWAITING_PAYOUT>CONFIRMING AWAITING_PAYOUT>REFUNDING AWAITING_PAYOUT>NEEDS_REVIEW CONFIRMING>SETTLED CONFIRMING>NEEDS_REVIEW REFUNDING>REFUNDED REFUNDING>NEEDS_REVIEW CLOSING>REFUSED CLOSING>DEPOSITING CLOSING>AWAITING_PAYOUT CLOSING>REFUNDING CLOSING>NEEDS_REVIEW SETTLED>NEEDS_REVIEW REFUNDED>NEEDS_REVIEW REFUSED>REFUNDING REFUSED>NEEDS_REVIEW NEEDS_REVIEW>AWAITING_SIGNATURE NEEDS_REVIEW>DEPOSITING NEEDS_REVIEW>AWAITING_PAYOUT NEEDS_REVIEW>CONFIRMING NEEDS_REVIEW>REFUNDING NEEDS_REVIEW>CLOSING NEEDS_REVIEW>SETTLED NEEDS_REVIEW>REFUNDED NEEDS_REVIEW>REFUSED');
--> statement-breakpoint
CREATE FUNCTION check_signer_of_deposit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.sign_until IS NULL) <> (OLD.sign_until IS NULL) THEN
    RAISE EXCEPTION 'who deposits for cash-out % is fixed', OLD.id USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER cash_out_sessions_signer BEFORE UPDATE ON cash_out_sessions
  FOR EACH ROW EXECUTE FUNCTION check_signer_of_deposit();
