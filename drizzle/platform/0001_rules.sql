-- The books' rules that columns can't express. Whatever a program does, these hold at every commit.

-- Append-only tables: what was written stays as it was written.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'integrity_constraint_violation';
END $$;
--> statement-breakpoint
CREATE TRIGGER transfers_append_only BEFORE UPDATE OR DELETE ON transfers FOR EACH ROW EXECUTE FUNCTION refuse_change();
--> statement-breakpoint
CREATE TRIGGER transfers_no_truncate BEFORE TRUNCATE ON transfers FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
--> statement-breakpoint
CREATE TRIGGER entries_append_only BEFORE UPDATE OR DELETE ON entries FOR EACH ROW EXECUTE FUNCTION refuse_change();
--> statement-breakpoint
CREATE TRIGGER entries_no_truncate BEFORE TRUNCATE ON entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
--> statement-breakpoint
CREATE TRIGGER purchases_append_only BEFORE UPDATE OR DELETE ON purchases FOR EACH ROW EXECUTE FUNCTION refuse_change();
--> statement-breakpoint
CREATE TRIGGER idempotency_keys_append_only BEFORE UPDATE OR DELETE ON idempotency_keys FOR EACH ROW EXECUTE FUNCTION refuse_change();
--> statement-breakpoint
CREATE TRIGGER installation_append_only BEFORE UPDATE OR DELETE ON installation FOR EACH ROW EXECUTE FUNCTION refuse_change();
--> statement-breakpoint

-- A transfer moves between two accounts of its own project.
CREATE FUNCTION check_transfer_accounts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT count(*) FROM accounts a
      WHERE a.id IN (NEW.debit_account_id, NEW.credit_account_id) AND a.project_id = NEW.project_id) <> 2 THEN
    RAISE EXCEPTION 'transfer % names an account of another project', NEW.id USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER transfers_accounts BEFORE INSERT ON transfers FOR EACH ROW EXECUTE FUNCTION check_transfer_accounts();
--> statement-breakpoint

-- At commit, each transfer has exactly its two entries: minus the amount where it debits, plus where it credits.
CREATE FUNCTION check_transfer_entries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT count(*) FROM entries e WHERE e.transfer_id = NEW.id
      AND ((e.account_id = NEW.debit_account_id AND e.amount = -NEW.amount)
        OR (e.account_id = NEW.credit_account_id AND e.amount = NEW.amount))) <> 2
     OR (SELECT count(*) FROM entries e WHERE e.transfer_id = NEW.id) <> 2 THEN
    RAISE EXCEPTION 'transfer % does not have its two entries', NEW.id USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE CONSTRAINT TRIGGER transfers_balanced AFTER INSERT ON transfers DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION check_transfer_entries();
--> statement-breakpoint

-- An entry belongs to its transfer and continues its account's chain.
CREATE FUNCTION check_entry_chain() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  previous_balance bigint;
BEGIN
  IF NEW.version = 1 THEN
    previous_balance := 0;
  ELSE
    SELECT e.balance_after INTO previous_balance FROM entries e
      WHERE e.account_id = NEW.account_id AND e.version = NEW.version - 1;
  END IF;
  IF previous_balance IS DISTINCT FROM NEW.balance_before THEN
    RAISE EXCEPTION 'entry % of account % does not continue its chain', NEW.version, NEW.account_id
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF NOT EXISTS (SELECT 1 FROM transfers t WHERE t.id = NEW.transfer_id
      AND ((t.debit_account_id = NEW.account_id AND NEW.amount = -t.amount)
        OR (t.credit_account_id = NEW.account_id AND NEW.amount = t.amount))) THEN
    RAISE EXCEPTION 'entry % of account % is not a side of transfer %', NEW.version, NEW.account_id, NEW.transfer_id
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE CONSTRAINT TRIGGER entries_chain AFTER INSERT ON entries DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION check_entry_chain();
--> statement-breakpoint

-- At commit, an account's balance and version are those of its latest entry.
CREATE FUNCTION check_account_balance() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  account accounts%ROWTYPE;
  latest record;
BEGIN
  SELECT * INTO account FROM accounts WHERE id = NEW.id;
  SELECT e.version, e.balance_after INTO latest FROM entries e
    WHERE e.account_id = NEW.id ORDER BY e.version DESC LIMIT 1;
  IF account.version <> coalesce(latest.version, 0) OR account.balance <> coalesce(latest.balance_after, 0) THEN
    RAISE EXCEPTION 'account % has balance % at version %, its entries say % at %', NEW.id, account.balance,
      account.version, coalesce(latest.balance_after, 0), coalesce(latest.version, 0)
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE CONSTRAINT TRIGGER accounts_balance AFTER INSERT OR UPDATE ON accounts DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION check_account_balance();
--> statement-breakpoint
-- An entry without the matching change of its account is caught by the same rule.
CREATE FUNCTION check_entry_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT a.version FROM accounts a WHERE a.id = NEW.account_id) < NEW.version THEN
    RAISE EXCEPTION 'account % did not follow its entry %', NEW.account_id, NEW.version
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE CONSTRAINT TRIGGER entries_account AFTER INSERT ON entries DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION check_entry_account();
--> statement-breakpoint
CREATE FUNCTION refuse_account_identity_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.id, NEW.project_id, NEW.kind, NEW.owner_id) IS DISTINCT FROM (OLD.id, OLD.project_id, OLD.kind, OLD.owner_id) THEN
    RAISE EXCEPTION 'the identity of account % is fixed', OLD.id USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER accounts_identity_fixed BEFORE UPDATE ON accounts FOR EACH ROW EXECUTE FUNCTION refuse_account_identity_change();
--> statement-breakpoint
CREATE TRIGGER accounts_no_delete BEFORE DELETE ON accounts FOR EACH ROW EXECUTE FUNCTION refuse_change();
--> statement-breakpoint

-- An attempt's bytes and hash are for ever; its state leaves OPEN once, and never comes back.
CREATE FUNCTION check_attempt_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.hash, NEW.submission_id, NEW.number, NEW.source, NEW.sequence, NEW.signed_bytes, NEW.valid_until,
      NEW.prepared_at_ledger, NEW.created_at)
     IS DISTINCT FROM (OLD.hash, OLD.submission_id, OLD.number, OLD.source, OLD.sequence, OLD.signed_bytes,
      OLD.valid_until, OLD.prepared_at_ledger, OLD.created_at) THEN
    RAISE EXCEPTION 'attempt % is fixed once written', OLD.hash USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF OLD.state <> 'OPEN' THEN
    RAISE EXCEPTION 'attempt % is decided', OLD.hash USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER attempts_fixed BEFORE UPDATE ON attempts FOR EACH ROW EXECUTE FUNCTION check_attempt_change();
--> statement-breakpoint
CREATE TRIGGER attempts_no_delete BEFORE DELETE ON attempts FOR EACH ROW EXECUTE FUNCTION refuse_change();
--> statement-breakpoint

-- A submission that the network decided stays decided.
CREATE FUNCTION check_submission_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.state IN ('SUCCEEDED', 'REFUSED') THEN
    RAISE EXCEPTION 'submission % is settled', OLD.id USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF (NEW.id, NEW.kind, NEW.subject_id, NEW.call) IS DISTINCT FROM (OLD.id, OLD.kind, OLD.subject_id, OLD.call) THEN
    RAISE EXCEPTION 'the intent of submission % is fixed', OLD.id USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER submissions_settled BEFORE UPDATE ON submissions FOR EACH ROW EXECUTE FUNCTION check_submission_change();
--> statement-breakpoint
CREATE TRIGGER submissions_no_delete BEFORE DELETE ON submissions FOR EACH ROW EXECUTE FUNCTION refuse_change();
--> statement-breakpoint

-- A record of the feed is the token's own and never changes; only its transaction hash may become known later.
CREATE FUNCTION check_record_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.tx_hash IS NOT NULL OR to_jsonb(NEW) - 'tx_hash' IS DISTINCT FROM to_jsonb(OLD) - 'tx_hash' THEN
    RAISE EXCEPTION 'retirement record % of % is immutable', OLD.index, OLD.token_address
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER retirement_records_immutable BEFORE UPDATE ON retirement_records FOR EACH ROW EXECUTE FUNCTION check_record_change();
--> statement-breakpoint
CREATE TRIGGER retirement_records_no_delete BEFORE DELETE ON retirement_records FOR EACH ROW EXECUTE FUNCTION refuse_change();
--> statement-breakpoint
INSERT INTO feed_head (position) VALUES (0);
