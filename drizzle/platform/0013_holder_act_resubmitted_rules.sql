-- As before, but for the submission: what a wallet sent by itself may have landed after the first one was dead.
DROP TRIGGER holder_acts_rules ON holder_acts;
--> statement-breakpoint
CREATE TRIGGER holder_acts_rules BEFORE UPDATE ON holder_acts FOR EACH ROW EXECUTE FUNCTION hold_row_rules(
  'id kind call holder prepared_by cash_out_session_id project_id format payload valid_until prepared_at_ledger created_at',
  'record_index record_tx_hash', '');
--> statement-breakpoint
CREATE FUNCTION check_act_submission() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.submission_id IS NULL OR NOT EXISTS (SELECT 1 FROM submissions s
      WHERE s.id = OLD.submission_id AND s.state = 'REFUSED' AND s.refusal_reason = 'EXPIRED') THEN
    RAISE EXCEPTION 'submission_id of holder_acts % is set once, unless what was signed is dead', OLD.id
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER holder_acts_submission BEFORE UPDATE ON holder_acts FOR EACH ROW
  WHEN (OLD.submission_id IS NOT NULL AND NEW.submission_id IS DISTINCT FROM OLD.submission_id)
  EXECUTE FUNCTION check_act_submission();
