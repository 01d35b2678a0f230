-- What the trail and the keys promise, whatever a program does.

-- An entry gets its outcome once. Nothing else about it changes, and it is never removed.
CREATE FUNCTION check_audit_entry_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.outcome IS NOT NULL
    OR NEW.outcome IS NULL
    OR NOT NEW.subject_ids @> OLD.subject_ids
    OR to_jsonb(NEW) - '{outcome,ended_at,subject_ids}'::text[]
      IS DISTINCT FROM to_jsonb(OLD) - '{outcome,ended_at,subject_ids}'::text[]
  THEN
    RAISE EXCEPTION 'audit entry % is append-only', OLD.id USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER audit_entries_outcome_once BEFORE UPDATE ON audit_entries FOR EACH ROW EXECUTE FUNCTION check_audit_entry_change();
--> statement-breakpoint
CREATE TRIGGER audit_entries_no_delete BEFORE DELETE ON audit_entries FOR EACH ROW EXECUTE FUNCTION refuse_change();
--> statement-breakpoint
CREATE TRIGGER audit_entries_no_truncate BEFORE TRUNCATE ON audit_entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
--> statement-breakpoint

-- A key never gets other rights or a longer life, and what was revoked stays revoked.
CREATE FUNCTION check_api_key_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF to_jsonb(NEW) - '{revoked_by,revoked_at,last_used_at}'::text[]
      IS DISTINCT FROM to_jsonb(OLD) - '{revoked_by,revoked_at,last_used_at}'::text[]
    OR (OLD.revoked_at IS NOT NULL
      AND (NEW.revoked_at, NEW.revoked_by) IS DISTINCT FROM (OLD.revoked_at, OLD.revoked_by))
  THEN
    RAISE EXCEPTION 'API key % is fixed', OLD.id USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER api_keys_fixed BEFORE UPDATE ON api_keys FOR EACH ROW EXECUTE FUNCTION check_api_key_change();
--> statement-breakpoint
CREATE TRIGGER api_keys_no_delete BEFORE DELETE ON api_keys FOR EACH ROW EXECUTE FUNCTION refuse_change();
--> statement-breakpoint
CREATE TRIGGER api_keys_no_truncate BEFORE TRUNCATE ON api_keys FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
--> statement-breakpoint

-- Counters of a minute: a database that crashes begins them anew.
ALTER TABLE rate_limits SET UNLOGGED;
