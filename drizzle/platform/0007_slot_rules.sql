-- An attempt that outbids another is the same call in the same slot, while that one can still land: of both, one
-- lands at most, because the network takes each slot once.
CREATE FUNCTION check_outbid() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE earlier attempts;
BEGIN
  SELECT * INTO earlier FROM attempts WHERE hash = NEW.outbids FOR UPDATE;
  IF earlier.state <> 'OPEN' THEN
    RAISE EXCEPTION 'attempt % can not be outbid: it is decided', earlier.hash
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF NEW.sequence IS NULL OR (NEW.submission_id, NEW.source, NEW.sequence)
     IS DISTINCT FROM (earlier.submission_id, earlier.source, earlier.sequence) THEN
    RAISE EXCEPTION 'attempt % must outbid % in its own slot', NEW.hash, earlier.hash
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER attempts_outbid BEFORE INSERT ON attempts
  FOR EACH ROW WHEN (NEW.outbids IS NOT NULL) EXECUTE FUNCTION check_outbid();
--> statement-breakpoint
CREATE OR REPLACE FUNCTION check_attempt_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.hash, NEW.submission_id, NEW.number, NEW.source, NEW.sequence, NEW.outbids, NEW.signed_bytes,
      NEW.valid_until, NEW.prepared_at_ledger, NEW.created_at)
     IS DISTINCT FROM (OLD.hash, OLD.submission_id, OLD.number, OLD.source, OLD.sequence, OLD.outbids,
      OLD.signed_bytes, OLD.valid_until, OLD.prepared_at_ledger, OLD.created_at) THEN
    RAISE EXCEPTION 'attempt % is fixed once written', OLD.hash USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF OLD.state <> 'OPEN' THEN
    RAISE EXCEPTION 'attempt % is decided', OLD.hash USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
-- A sequence that was given away is never taken back: what the network expects beyond it was used by others.
CREATE FUNCTION check_signing_account_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.address <> OLD.address OR NEW.next_sequence < OLD.next_sequence THEN
    RAISE EXCEPTION 'the sequence of account % only goes up', OLD.address
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER signing_accounts_forward BEFORE UPDATE ON signing_accounts
  FOR EACH ROW EXECUTE FUNCTION check_signing_account_change();
--> statement-breakpoint
CREATE TRIGGER signing_accounts_no_delete BEFORE DELETE ON signing_accounts
  FOR EACH ROW EXECUTE FUNCTION refuse_change();
