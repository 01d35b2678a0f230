-- Rules of the platform's tables that columns can't express. They hold at every commit, for every program.

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'integrity_constraint_violation';
END $$;
--> statement-breakpoint
-- Refuses the changes, such as DELETE OR TRUNCATE, in every table of a list that is separated by spaces.
CREATE FUNCTION refuse_changes(changes text, targets text) RETURNS void LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
  target text;
BEGIN
  FOREACH target IN ARRAY string_to_array(targets, ' ') LOOP
    EXECUTE format('CREATE TRIGGER %I BEFORE %s ON %I FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()',
      target || '_rows_stay', changes, target);
  END LOOP;
END $$;
--> statement-breakpoint
-- Append-only tables: rows are never updated or deleted.
SELECT refuse_changes('UPDATE OR DELETE OR TRUNCATE',
  'transfers idempotency_keys project_prices issuance_caps off_ramp_provider_statuses manual_ramp_sessions manual_ramp_statuses' ||
  ' operator_decisions audit_prunings transparency_checkpoints installation');
--> statement-breakpoint
-- Rows that may change, within the rules below, and are never deleted.
SELECT refuse_changes('DELETE OR TRUNCATE',
  'accounts attempts submissions signing_accounts signing_halts holder_acts retirement_records retirements projects receipts' ||
  ' receipt_pledges expiry_runs expiry_items off_ramp_sessions off_ramp_reviews settlement_deployments' ||
  ' approval_requests api_keys audit_writers transparency_heads transparency_tiles transparency_audit_writers');
--> statement-breakpoint
-- Rules of rows decide which of these may be deleted. TRUNCATE does not ask them.
SELECT refuse_changes('TRUNCATE', 'audit_entries token_revocations');
--> statement-breakpoint
-- Identifies the history of this database. A promotion and a recovery to a point in time begin another
-- timeline. pg_restore creates another table, if not another database or cluster. A copy of the disk keeps
-- the same value. Null on a standby, and when the server does not reveal the values.
CREATE FUNCTION database_history() RETURNS text LANGUAGE plpgsql STABLE SET search_path = public, pg_temp AS $$
BEGIN
  RETURN (SELECT system_identifier FROM pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) || '/' ||
    (SELECT oid FROM pg_database WHERE datname = current_database()) || '/' || 'final_ledger'::regclass::oid;
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END $$;
--> statement-breakpoint
-- The books. Only transfers change an account: the trigger on transfers updates it, and every other change is
-- refused.

CREATE FUNCTION are_sides_of(kind transfer_kind, debit account_kind, credit account_kind) RETURNS boolean
LANGUAGE sql IMMUTABLE RETURN CASE kind
  WHEN 'issue' THEN debit = 'issuance' AND credit = 'inventory'
  WHEN 'purchase' THEN debit = 'inventory' AND credit = 'buyer'
  WHEN 'retirement_hold' THEN debit = 'buyer' AND credit = 'retiring'
  WHEN 'retirement_settle' THEN debit = 'retiring' AND credit = 'retired'
  WHEN 'retirement_return' THEN debit = 'retiring' AND credit = 'buyer'
  WHEN 'credit_transfer' THEN debit = 'buyer' AND credit = 'buyer'
  ELSE false END;
--> statement-breakpoint
-- Moves the accounts of all transfers that a statement inserted. Refuses the transfers if one is not between
-- two accounts of its project and of its kind's sides, or does not continue the history of both. An account
-- that another transaction moved meanwhile no longer has the version that its first transfer continues. The
-- function runs as the owner of the tables, which distinguishes it from a trigger function of another role.
CREATE FUNCTION move_accounts() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  broken text;
BEGIN
  -- Every role may use this function as a trigger of a temporary table.
  IF TG_RELID <> 'transfers'::regclass THEN
    RAISE EXCEPTION '% moves no accounts', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  WITH sides AS (
    SELECT debit_account_id AS account_id, debit_version AS version, -amount_tonnes AS amount_tonnes,
      debit_balance_tonnes AS balance_tonnes FROM posted
    UNION ALL SELECT credit_account_id, credit_version, amount_tonnes, credit_balance_tonnes FROM posted
  ), steps AS (
    SELECT *, lag(version) OVER history AS version_before, lag(balance_tonnes) OVER history AS balance_before_tonnes,
      lead(version) OVER history IS NULL AS is_last
    FROM sides WINDOW history AS (PARTITION BY account_id ORDER BY version)
  ), moves AS (
    SELECT account_id, min(version) AS first_version, max(version) AS version, sum(amount_tonnes) AS amount_tonnes,
      max(balance_tonnes) FILTER (WHERE is_last) AS balance_tonnes,
      bool_and(version_before IS NULL
        OR (version, balance_tonnes) = (version_before + 1, balance_before_tonnes + amount_tonnes)) AS is_chain
    FROM steps GROUP BY account_id
  ), moved AS (
    UPDATE accounts a SET version = m.version, balance_tonnes = m.balance_tonnes
    FROM moves m
    WHERE a.id = m.account_id AND m.is_chain AND a.version = m.first_version - 1
      AND a.balance_tonnes + m.amount_tonnes = m.balance_tonnes
    RETURNING a.id
  )
  SELECT format('transfers of account %s do not continue its history from version %s on', m.account_id, m.first_version) INTO broken
    FROM moves m WHERE m.account_id NOT IN (SELECT id FROM moved)
  -- A project's credits are issued once (transfers_once), and as many as were verified. The account
  -- "retiring" contains the holds of all retirements: a transfer from it must be the hold of its own
  -- retirement, and a return goes to the buyer of that hold.
  UNION ALL SELECT CASE WHEN NOT t.is_between THEN format('transfer %s is not between two accounts of its project and kind', t.id)
      WHEN t.kind = 'issue' THEN format('transfer %s does not issue the tonnes of project %s', t.id, t.project_id)
      ELSE format('transfer %s is not what was held for retirement %s', t.id, t.cause_id) END
    FROM (SELECT t.id, t.kind, t.project_id, t.cause_id,
        (d.project_id = t.project_id AND c.project_id = t.project_id AND are_sides_of(t.kind, d.kind, c.kind)) IS TRUE AS is_between,
        CASE WHEN t.kind = 'issue' THEN (SELECT (t.cause_id, t.amount_tonnes) = (p.id, p.quantity_tonnes) FROM projects p WHERE p.id = t.project_id)
          -- The condition matches the whole index transfers_once and no other index. Otherwise a plan would
          -- read every hold for each settlement when the statistics are from a time without holds.
          WHEN t.kind IN ('retirement_settle', 'retirement_return') THEN (SELECT
              (t.debit_account_id, t.amount_tonnes) = (h.credit_account_id, h.amount_tonnes)
              AND (t.kind = 'retirement_settle' OR t.credit_account_id = h.debit_account_id)
            FROM transfers h WHERE h.cause_id = t.cause_id AND h.kind <> 'purchase'
              AND (CASE WHEN h.kind = 'retirement_return' THEN 'retirement_settle'::transfer_kind ELSE h.kind END) = 'retirement_hold')
          ELSE true END IS TRUE AS is_due
      FROM posted t LEFT JOIN accounts d ON d.id = t.debit_account_id LEFT JOIN accounts c ON c.id = t.credit_account_id) t
    WHERE NOT (t.is_between AND t.is_due)
  LIMIT 1;
  IF broken IS NOT NULL THEN RAISE EXCEPTION '%', broken USING ERRCODE = 'integrity_constraint_violation'; END IF;

  -- A purchase is at the price in force. Here the inventory is locked; setting a price locks it too.
  SELECT format('a purchase of project %s is not at the price in force: %s %s', s.project_id, p.price_per_tonne, p.price_currency)
    INTO broken
    FROM (SELECT DISTINCT project_id, price_per_tonne, price_currency FROM posted WHERE kind = 'purchase') s
    LEFT JOIN LATERAL (SELECT p.price_per_tonne, p.price_currency FROM project_prices p
      WHERE p.project_id = s.project_id ORDER BY p.number DESC LIMIT 1) p ON true
    WHERE (s.price_per_tonne, s.price_currency) IS DISTINCT FROM (p.price_per_tonne, p.price_currency) LIMIT 1;
  IF broken IS NOT NULL THEN RAISE EXCEPTION '%', broken USING ERRCODE = 'integrity_constraint_violation'; END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER transfers_move_accounts AFTER INSERT ON transfers REFERENCING NEW TABLE AS posted
  FOR EACH STATEMENT EXECUTE FUNCTION move_accounts();
--> statement-breakpoint
-- An update within a trigger, by a role that could switch off this trigger, comes from the trigger above. The
-- application's role can make a trigger of a temporary table, which also updates within a trigger. Therefore
-- the tables and the functions have one owner.
CREATE TRIGGER accounts_moved_by_transfers BEFORE UPDATE ON accounts FOR EACH STATEMENT
  WHEN (pg_trigger_depth() = 0 OR NOT has_table_privilege('accounts'::regclass, 'TRIGGER')) EXECUTE FUNCTION refuse_change();
--> statement-breakpoint
CREATE TRIGGER accounts_open_empty BEFORE INSERT ON accounts
  FOR EACH ROW WHEN (NEW.version <> 0 OR NEW.balance_tonnes <> 0) EXECUTE FUNCTION refuse_change();
--> statement-breakpoint
-- Posts a batch of transfers, each with its own outcome, in one call. No other statement inserts transfers.
--
--   accounts  [{project | token, kind, owner}]   every account that the postings name, once
--   postings  [{id, kind, cause, debit, credit, tonnes, memo, price, currency, caller, operation, key, hash}]
--             debit and credit are places in accounts, from 1; memo is a credit transfer's, or null; price and
--             currency are a purchase's expected ones, or null; the last four are null without an idempotency key
--   entries   [{posting, …}]                     this writer's audit entries of postings that are posted
--
-- Amounts and balances are in whole tonnes. The outcomes:
--
--   POSTED, SHORT (available is what the debited account holds), REPLAYED (target_id is the first use's),
--   CONFLICT (the key was used with another input), PRICE_CHANGED (a tonne has another price than expected),
--   NO_PROJECT (the token is unknown)
--
-- A separate statement locks the accounts in the order of their ids before anything else, so the later
-- statements see what the last holders of the locks committed. Keys are inserted in their order, after the
-- accounts. Therefore batches that share accounts or keys wait for each other and don't deadlock. A refused
-- posting writes nothing, not even its key.
CREATE FUNCTION post_transfers(accounts json, postings json, entries json, posted_at timestamptz, writer uuid, program_version text)
RETURNS TABLE (outcome text, project_id uuid, available bigint, target_id uuid, price_per_tonne numeric, price_currency text)
LANGUAGE plpgsql SET search_path = public, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  projects_of uuid[]; kinds account_kind[]; owners text[];
  ids bigint[]; locked bigint[];
  versions bigint[]; balances bigint[];
  transfer_ids uuid[]; transfer_kinds transfer_kind[]; cause_ids uuid[]; debits int[]; credits int[]; amounts bigint[]; memos text[];
  expected_prices numeric[]; expected_currencies text[]; prices numeric[]; currencies text[]; callers text[]; operations text[]; keys text[]; hashes text[];
  first_uses uuid[]; is_conflict boolean[];
  outcomes text[]; held bigint[];
  debit_versions bigint[]; debit_balances bigint[]; credit_versions bigint[]; credit_balances bigint[];
  must_open boolean; missing int[]; opened bigint;
  d int; c int; amount bigint;
BEGIN
  SELECT array_agg(coalesce(a.project, p.id) ORDER BY place), array_agg(a.kind ORDER BY place), array_agg(a.owner ORDER BY place)
    INTO projects_of, kinds, owners
    FROM ROWS FROM (json_to_recordset($1) AS (project uuid, token text, kind account_kind, owner text))
      WITH ORDINALITY AS a (project, token, kind, owner, place)
    LEFT JOIN projects p ON p.token_address = a.token;
  SELECT array_agg(p.id), array_agg(p.kind), array_agg(p.cause), array_agg(p.debit), array_agg(p.credit),
      array_agg(p.tonnes), array_agg(p.memo), array_agg(p.price), array_agg(p.currency),
      array_agg(p.caller), array_agg(p.operation), array_agg(p.key), array_agg(p.hash)
    INTO transfer_ids, transfer_kinds, cause_ids, debits, credits, amounts, memos, expected_prices, expected_currencies,
      callers, operations, keys, hashes
    FROM json_to_recordset($2) AS p (id uuid, kind transfer_kind, cause uuid, debit int, credit int,
      tonnes bigint, memo text, price numeric, currency text, caller text, operation text, key text, hash text);

  -- Runs once, unless another transaction opens one of the same accounts.
  LOOP
    -- Filled to full length, because an empty array would begin at the place of its first element.
    outcomes := array_fill(NULL::text, ARRAY[cardinality(transfer_ids)]);
    held := array_fill(NULL::bigint, ARRAY[cardinality(transfer_ids)]);
    debit_versions := held; debit_balances := held; credit_versions := held; credit_balances := held;
    must_open := false;
    SELECT array_agg(l.id) INTO locked FROM (
      SELECT a.id FROM unnest(projects_of, kinds, owners) AS s (project, kind, owner)
        JOIN accounts a ON a.project_id = s.project AND a.kind = s.kind AND a.owner_id = s.owner
        ORDER BY a.id FOR NO KEY UPDATE OF a) l;
    -- Includes the price of a tonne, at the places of the inventories: only purchases debit one.
    SELECT array_agg(a.id ORDER BY place), array_agg(coalesce(a.version, 0) ORDER BY place),
        array_agg(coalesce(a.balance_tonnes, 0) ORDER BY place), array_agg(p.price_per_tonne ORDER BY place),
        array_agg(p.price_currency ORDER BY place)
      INTO ids, versions, balances, prices, currencies
      FROM unnest(projects_of, kinds, owners) WITH ORDINALITY AS s (project, kind, owner, place)
      LEFT JOIN accounts a ON a.project_id = s.project AND a.kind = s.kind AND a.owner_id = s.owner
        -- IS TRUE keeps this condition out of the index: it would compare each account with all locked ones.
        AND (a.id = ANY (locked)) IS TRUE
      LEFT JOIN LATERAL (SELECT p.price_per_tonne, p.price_currency FROM project_prices p
        WHERE p.project_id = s.project ORDER BY p.number DESC LIMIT 1) p ON s.kind = 'inventory';

    SELECT array_agg(k.target_id ORDER BY place), array_agg(k.input_hash <> s.hash ORDER BY place)
      INTO first_uses, is_conflict
      FROM unnest(callers, operations, keys, hashes) WITH ORDINALITY AS s (caller, operation, key, hash, place)
      LEFT JOIN idempotency_keys k ON k.caller_subject = s.caller AND k.operation = s.operation AND k.key = s.key;

    FOR i IN 1 .. cardinality(transfer_ids) LOOP
      d := debits[i]; c := credits[i]; amount := amounts[i];
      IF first_uses[i] IS NOT NULL THEN
        outcomes[i] := CASE WHEN is_conflict[i] THEN 'CONFLICT' ELSE 'REPLAYED' END;
      ELSIF projects_of[d] IS NULL THEN
        outcomes[i] := 'NO_PROJECT';
      -- Only issuance, the contra account, may go below zero.
      ELSIF balances[d] < amount AND transfer_kinds[i] <> 'issue' THEN
        outcomes[i] := 'SHORT';
        held[i] := balances[d];
      ELSIF expected_prices[i] IS NOT NULL
          AND (expected_prices[i], expected_currencies[i]) IS DISTINCT FROM (prices[d], currencies[d]) THEN
        outcomes[i] := 'PRICE_CHANGED';
      ELSE
        outcomes[i] := 'POSTED';
        must_open := must_open OR ids[d] IS NULL OR ids[c] IS NULL;
        versions[d] := versions[d] + 1; balances[d] := balances[d] - amount;
        versions[c] := versions[c] + 1; balances[c] := balances[c] + amount;
        debit_versions[i] := versions[d]; debit_balances[i] := balances[d];
        credit_versions[i] := versions[c]; credit_balances[i] := balances[c];
      END IF;
    END LOOP;

    -- Without this flag, each batch would start the statement below.
    EXIT WHEN NOT must_open;
    SELECT array_agg(place) INTO missing
      FROM unnest(ids, versions) WITH ORDINALITY AS s (id, version, place) WHERE s.id IS NULL AND s.version > 0;
    INSERT INTO accounts (project_id, kind, owner_id)
      SELECT projects_of[place], kinds[place], owners[place] FROM unnest(missing) AS place ORDER BY 1, 2, 3
      ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS opened = ROW_COUNT;
    IF opened = cardinality(missing) THEN
      SELECT array_agg(a.id ORDER BY place) INTO ids
        FROM unnest(projects_of, kinds, owners) WITH ORDINALITY AS s (project, kind, owner, place)
        LEFT JOIN accounts a ON a.project_id = s.project AND a.kind = s.kind AND a.owner_id = s.owner;
      EXIT;
    END IF;
  END LOOP;

  INSERT INTO transfers (id, project_id, kind, cause_id, debit_account_id, debit_version, debit_balance_tonnes,
      credit_account_id, credit_version, credit_balance_tonnes, amount_tonnes, price_per_tonne, price_currency, memo, created_at)
    SELECT t.id, projects_of[t.debit], t.kind, t.cause, ids[t.debit], t.debit_version, t.debit_balance,
      ids[t.credit], t.credit_version, t.credit_balance, t.amount,
      prices[t.debit], currencies[t.debit], t.memo, posted_at
    FROM unnest(transfer_ids, transfer_kinds, cause_ids, debits, credits, amounts, memos, outcomes,
        debit_versions, debit_balances, credit_versions, credit_balances)
      AS t (id, kind, cause, debit, credit, amount, memo, outcome,
        debit_version, debit_balance, credit_version, credit_balance)
    WHERE t.outcome = 'POSTED';
  INSERT INTO idempotency_keys (caller_subject, operation, key, input_hash, target_id)
    SELECT k.caller, k.operation, k.key, k.hash, k.cause
    FROM unnest(callers, operations, keys, hashes, cause_ids, outcomes) AS k (caller, operation, key, hash, cause, outcome)
    WHERE k.outcome = 'POSTED' AND k.key IS NOT NULL
    ORDER BY 1, 2, 3;
  IF writer IS NOT NULL THEN PERFORM insert_audit_entries(writer, program_version, $3, outcomes); END IF;

  RETURN QUERY SELECT r.outcome, projects_of[r.debit], r.held, coalesce(r.first_use, r.cause), prices[r.debit],
      currencies[r.debit]
    FROM unnest(outcomes, debits, held, first_uses, cause_ids) WITH ORDINALITY AS r (outcome, debit, held, first_use, cause, place)
    ORDER BY place;
END $$;
--> statement-breakpoint
-- A record of the feed belongs to the token and never changes, except: its transaction hash, and a retirement
-- that claims it, may become known later; and after a rollback of the chain, which halts signing, a record
-- that lands again gets a new date.
CREATE FUNCTION check_record_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  is_dated_anew boolean := NEW.timestamp <> OLD.timestamp
    AND EXISTS (SELECT 1 FROM signing_accounts WHERE halted_because IS NOT NULL);
  allowed retirement_records := OLD;
BEGIN
  IF is_dated_anew THEN
    -- The transparency log contains the first date.
    NEW.first_timestamp := coalesce(OLD.first_timestamp, OLD.timestamp);
    allowed.timestamp := NEW.timestamp;
    allowed.first_timestamp := NEW.first_timestamp;
  ELSE
    IF OLD.tx_hash IS NULL THEN allowed.tx_hash := NEW.tx_hash; END IF;
    IF NOT OLD.is_claimed THEN allowed.is_claimed := NEW.is_claimed; END IF;
  END IF;
  IF NEW IS DISTINCT FROM allowed THEN
    RAISE EXCEPTION 'retirement record % of % is immutable', OLD.index, OLD.token_address
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER retirement_records_immutable BEFORE UPDATE ON retirement_records FOR EACH ROW EXECUTE FUNCTION check_record_change();
--> statement-breakpoint
-- Identifies the rows of a table without a primary key. Otherwise a publication of all tables, as for a move
-- to another server, would refuse the updates below, and every new record with them.
ALTER TABLE retirement_totals REPLICA IDENTITY FULL;
--> statement-breakpoint
-- The totals follow the records, whichever program writes the records.
CREATE FUNCTION add_to_retirement_totals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO retirement_totals AS t (project_id, country_code, vintage_year, day, amount_base_units, retirements)
    SELECT r.project_id, p.country_code, p.vintage_year, r.timestamp / 86400, sum(r.amount_base_units), count(*)
      FROM added r JOIN projects p ON p.id = r.project_id
      GROUP BY GROUPING SETS ((r.project_id), (r.project_id, r.timestamp / 86400), (p.country_code, r.timestamp / 86400),
        (p.vintage_year, r.timestamp / 86400), (r.timestamp / 86400))
      ORDER BY 1, 2, 3, 4 -- All writers lock rows in one order.
    ON CONFLICT (project_id, country_code, vintage_year, day) DO UPDATE
      SET amount_base_units = t.amount_base_units + excluded.amount_base_units, retirements = t.retirements + excluded.retirements;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER retirement_records_totals AFTER INSERT ON retirement_records REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION add_to_retirement_totals();
--> statement-breakpoint
-- A record with a new date counts on its new day.
CREATE FUNCTION move_in_retirement_totals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO retirement_totals AS t (project_id, country_code, vintage_year, day, amount_base_units, retirements)
    SELECT r.project_id, p.country_code, p.vintage_year, r.day, sum(r.amount_base_units), sum(r.records)
      FROM (SELECT project_id, timestamp / 86400 AS day, amount_base_units, 1 AS records FROM after
        UNION ALL SELECT project_id, timestamp / 86400, -amount_base_units, -1 FROM before) r JOIN projects p ON p.id = r.project_id
      GROUP BY GROUPING SETS ((r.project_id, r.day), (p.country_code, r.day), (p.vintage_year, r.day), (r.day))
      HAVING sum(r.records) <> 0 OR sum(r.amount_base_units) <> 0
      ORDER BY 1, 2, 3, 4
    ON CONFLICT (project_id, country_code, vintage_year, day) DO UPDATE
      SET amount_base_units = t.amount_base_units + excluded.amount_base_units, retirements = t.retirements + excluded.retirements;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER retirement_records_totals_moved AFTER UPDATE ON retirement_records
  REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION move_in_retirement_totals();
--> statement-breakpoint
INSERT INTO feed_head (position) VALUES (0);
--> statement-breakpoint
INSERT INTO reconciliation_schedule DEFAULT VALUES;
--> statement-breakpoint
-- What may change in a row.

-- Reports which rule of its row a change breaks. The trigger calls it only for such a change (add_row_rules).
CREATE FUNCTION refuse_row_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  before jsonb := to_jsonb(OLD);
  after jsonb := to_jsonb(NEW);
  key text := coalesce(before ->> 'id', before ->> 'hash');
  name text;
BEGIN
  IF before ->> 'state' <> ALL (string_to_array(nullif(TG_ARGV[3], ''), ' ')) THEN
    RAISE EXCEPTION '% % is %, which is final', TG_TABLE_NAME, key, before ->> 'state'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  FOREACH name IN ARRAY string_to_array(TG_ARGV[0], ' ') LOOP
    IF before -> name IS DISTINCT FROM after -> name THEN
      RAISE EXCEPTION '% of % % is fixed once written', name, TG_TABLE_NAME, key
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
  END LOOP;
  FOREACH name IN ARRAY string_to_array(TG_ARGV[1], ' ') LOOP
    IF before ->> name IS NOT NULL AND before -> name IS DISTINCT FROM after -> name THEN
      RAISE EXCEPTION '% of % % is set once', name, TG_TABLE_NAME, key
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
  END LOOP;
  RAISE EXCEPTION '% % can''t go from % to %', TG_TABLE_NAME, key, before ->> 'state', after ->> 'state'
    USING ERRCODE = 'integrity_constraint_violation';
END $$;
--> statement-breakpoint
-- One rule for rows with states: `fixed` columns never change, `once` columns are set once, `state` moves only
-- along the `arrows`, and only rows whose state is `undecided` change at all: any other state is final, also one
-- that a later migration adds. Each argument is a list separated by spaces; an empty one rules nothing. The
-- rules are the trigger's condition, so a change that obeys them calls no function: the call took 20 of the 50
-- microseconds of a retirement's update.
CREATE FUNCTION add_row_rules(target regclass, fixed text, once text, arrows text, undecided text DEFAULT '') RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
  breaches text[] := ARRAY(SELECT format('OLD.%1$I IS DISTINCT FROM NEW.%1$I', name) FROM string_to_table(fixed, ' ') AS name)
    || ARRAY(SELECT format('OLD.%1$I IS NOT NULL AND OLD.%1$I IS DISTINCT FROM NEW.%1$I', name) FROM string_to_table(once, ' ') AS name);
BEGIN
  IF arrows <> '' THEN
    breaches := breaches || format('OLD.state IS DISTINCT FROM NEW.state AND (OLD.state || ''>'' || NEW.state) <> ALL (%L::text[])',
      string_to_array(arrows, ' '));
  END IF;
  IF undecided <> '' THEN
    breaches := breaches || format('OLD.state <> ALL (%L)', string_to_array(undecided, ' '));
  END IF;
  EXECUTE format('CREATE TRIGGER %I BEFORE UPDATE ON %s FOR EACH ROW WHEN (%s) EXECUTE FUNCTION refuse_row_change(%L, %L, %L, %L)',
    target || '_rules', target, array_to_string(breaches, ' OR '), fixed, once, arrows, undecided);
END $$;
--> statement-breakpoint
-- An attempt's bytes and hash never change; its state leaves OPEN once.
SELECT add_row_rules('attempts',
  'hash submission_id number source sequence replaces signed_bytes valid_until prepared_at_ledger created_at', '', '',
  'OPEN');
--> statement-breakpoint
SELECT add_row_rules('submissions', 'id kind target_type target_id call signer', '', '',
  'PENDING NEEDS_REVIEW');
--> statement-breakpoint
-- A request for approval is decided once, and the decision stays, with the reason of a refusal.
SELECT add_row_rules('approval_requests',
  'id operation input target_id basis requested_by requested_with_key requested_at expires_at', '', '',
  'AWAITING');
--> statement-breakpoint
-- An API key never gets other rights or a later expiry, and a revoked key stays revoked.
SELECT add_row_rules('api_keys',
  'id name key_hash subject roles warehouse_ids created_by created_at expires_at', 'revoked_by revoked_at', '');
--> statement-breakpoint
SELECT add_row_rules('projects',
  'id asset_id asset_key credit_type verification_body_ref vintage_year quantity_tonnes project_location project_type country_code token_name token_symbol deploy_salt developer_id created_at',
  'token_address opened_at',
  'DEPLOYING>MINTING DEPLOYING>REFUSED DEPLOYING>NEEDS_REVIEW MINTING>OPEN MINTING>NEEDS_REVIEW NEEDS_REVIEW>DEPLOYING NEEDS_REVIEW>MINTING NEEDS_REVIEW>OPEN NEEDS_REVIEW>REFUSED');
--> statement-breakpoint
SELECT add_row_rules('receipts',
  'id warehouse_id asset_millis asset_id commodity_type quantity_kg grade_classification warehouse_location harvest_season inspection_report_hash valuation_usd country_code token_name token_symbol farmer_address farmer_id confirmed_by deposit_date expiry_date deploy_salt created_at',
  'token_address expired_tx_hash activated_at expired_at',
  'DEPLOYING>MINTING DEPLOYING>REFUSED DEPLOYING>NEEDS_REVIEW MINTING>ACTIVE MINTING>NEEDS_REVIEW ACTIVE>EXPIRED NEEDS_REVIEW>DEPLOYING NEEDS_REVIEW>MINTING NEEDS_REVIEW>ACTIVE NEEDS_REVIEW>REFUSED');
--> statement-breakpoint
SELECT add_row_rules('off_ramp_sessions',
  'id receipt_id token_address token_amount_kg requested_by farmer_id depositor depositor_address settlement_address country_code payout_account_type fiat_currency fiat_amount fiat_fee fee_bps exchange_rate quote_expires_at provider_name created_at',
  'provider_asked_at provider_session_id deposit_tx_hash deposited_at released_at resolution resolution_tx_hash cancel_requested_at cancel_requested_by',
  'OPENING>DEPOSITING OPENING>AWAITING_SIGNATURE OPENING>CLOSING OPENING>CLOSED OPENING>NEEDS_REVIEW AWAITING_SIGNATURE>DEPOSITING AWAITING_SIGNATURE>AWAITING_PAYOUT AWAITING_SIGNATURE>CLOSING AWAITING_SIGNATURE>NEEDS_REVIEW DEPOSITING>AWAITING_SIGNATURE DEPOSITING>AWAITING_PAYOUT DEPOSITING>CLOSING DEPOSITING>NEEDS_REVIEW AWAITING_PAYOUT>CONFIRMING AWAITING_PAYOUT>REFUNDING AWAITING_PAYOUT>NEEDS_REVIEW CONFIRMING>SETTLED CONFIRMING>NEEDS_REVIEW REFUNDING>REFUNDED REFUNDING>NEEDS_REVIEW CLOSING>CLOSED CLOSING>DEPOSITING CLOSING>AWAITING_PAYOUT CLOSING>REFUNDING CLOSING>NEEDS_REVIEW SETTLED>NEEDS_REVIEW REFUNDED>NEEDS_REVIEW CLOSED>REFUNDING CLOSED>NEEDS_REVIEW NEEDS_REVIEW>AWAITING_SIGNATURE NEEDS_REVIEW>DEPOSITING NEEDS_REVIEW>AWAITING_PAYOUT NEEDS_REVIEW>CONFIRMING NEEDS_REVIEW>REFUNDING NEEDS_REVIEW>CLOSING NEEDS_REVIEW>SETTLED NEEDS_REVIEW>REFUNDED NEEDS_REVIEW>CLOSED');
--> statement-breakpoint
-- A sealed text is fixed as well, except that it may be sealed again under another key while nothing else of
-- its row changes.
CREATE FUNCTION check_resealed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  before text := to_jsonb(OLD) ->> TG_ARGV[0];
  after text := to_jsonb(NEW) ->> TG_ARGV[0];
BEGIN
  IF after !~ '^v2[.][0-9a-f]{12}[.]' IS NOT FALSE OR split_part(after, '.', 2) = split_part(before, '.', 2)
    OR to_jsonb(NEW) - TG_ARGV[0] IS DISTINCT FROM to_jsonb(OLD) - TG_ARGV[0]
  THEN
    RAISE EXCEPTION '% of % % is fixed once written', TG_ARGV[0], TG_TABLE_NAME, OLD.id
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER off_ramp_sessions_sealed BEFORE UPDATE ON off_ramp_sessions FOR EACH ROW
  WHEN (OLD.sealed_payout_account IS DISTINCT FROM NEW.sealed_payout_account AND NEW.payout_account_erased_at IS NULL)
  EXECUTE FUNCTION check_resealed('sealed_payout_account');
--> statement-breakpoint
-- A payout account may be erased when its session has ended, because no further payout follows. Nothing else
-- of the row may change with it.
CREATE FUNCTION check_payout_account_erased() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  allowed off_ramp_sessions := OLD;
BEGIN
  allowed.sealed_payout_account := NULL;
  allowed.masked_account_number := NULL;
  allowed.payout_account_erased_at := NEW.payout_account_erased_at;
  IF OLD.payout_account_erased_at IS NOT NULL OR NEW.payout_account_erased_at IS NULL
    OR OLD.state NOT IN ('SETTLED', 'REFUNDED', 'CLOSED') OR NEW IS DISTINCT FROM allowed
  THEN
    RAISE EXCEPTION 'the payout account of off_ramp_sessions % is fixed, and erased once its session has ended', OLD.id
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER off_ramp_sessions_erased BEFORE UPDATE ON off_ramp_sessions FOR EACH ROW
  WHEN (OLD.payout_account_erased_at IS DISTINCT FROM NEW.payout_account_erased_at
    OR OLD.masked_account_number IS DISTINCT FROM NEW.masked_account_number)
  EXECUTE FUNCTION check_payout_account_erased();
--> statement-breakpoint
CREATE TRIGGER indexer_registrations_sealed BEFORE UPDATE ON indexer_registrations FOR EACH ROW
  WHEN (OLD.sealed_secret IS DISTINCT FROM NEW.sealed_secret)
  EXECUTE FUNCTION check_resealed('sealed_secret');
--> statement-breakpoint
-- No session begins while its receipt is pledged, and no pledge while a session of the receipt is open. Both
-- rules lock the receipt: the second of two concurrent transactions sees the first. The rules do not see
-- later acts of a session that ended before the pledge. Custody can't begin to cash out kilograms that are
-- paid or promised, even if it holds them again as the treasury.
CREATE FUNCTION check_receipt_is_free() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  remaining_kg numeric;
BEGIN
  SELECT quantity_kg INTO remaining_kg FROM receipts WHERE id = NEW.receipt_id FOR UPDATE;
  IF EXISTS (SELECT 1 FROM receipt_pledges WHERE receipt_id = NEW.receipt_id AND released_at IS NULL) THEN
    RAISE EXCEPTION 'receipt % is pledged', NEW.receipt_id USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  SELECT remaining_kg - coalesce(sum(token_amount_kg), 0) INTO remaining_kg FROM off_ramp_sessions
    WHERE receipt_id = NEW.receipt_id AND (state NOT IN ('CLOSED', 'REFUNDED') OR provider_status = 'settled');
  IF NEW.depositor = 'CUSTODY' AND NEW.token_amount_kg > remaining_kg THEN
    RAISE EXCEPTION 'receipt % has no % kg left for custody to cash out', NEW.receipt_id, NEW.token_amount_kg
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER off_ramp_sessions_receipt_is_free BEFORE INSERT ON off_ramp_sessions FOR EACH ROW EXECUTE FUNCTION check_receipt_is_free();
--> statement-breakpoint
CREATE FUNCTION check_pledge() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM receipts WHERE id = NEW.receipt_id FOR UPDATE;
  IF EXISTS (SELECT 1 FROM off_ramp_sessions
      WHERE receipt_id = NEW.receipt_id AND state NOT IN ('SETTLED', 'REFUNDED', 'CLOSED')) THEN
    RAISE EXCEPTION 'receipt % is being cashed out', NEW.receipt_id USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER receipt_pledges_receipt_is_free BEFORE INSERT ON receipt_pledges FOR EACH ROW EXECUTE FUNCTION check_pledge();
--> statement-breakpoint
SELECT add_row_rules('receipt_pledges',
  'id receipt_id lender_name lender_id loan_reference pledged_by pledged_at', 'released_by released_at', '');
--> statement-breakpoint
SELECT add_row_rules('off_ramp_reviews',
  'id off_ramp_session_id flagged_because state_before opened_at', 'decision decided_by reason approval_request_id closed_at deposit_seen statuses_seen', '');
--> statement-breakpoint
SELECT add_row_rules('settlement_deployments',
  'id treasury_address deploy_salt requested_by created_at', 'settlement_address',
  'DEPLOYING>DEPLOYED DEPLOYING>REFUSED DEPLOYING>NEEDS_REVIEW NEEDS_REVIEW>DEPLOYING NEEDS_REVIEW>DEPLOYED NEEDS_REVIEW>REFUSED');
--> statement-breakpoint
SELECT add_row_rules('expiry_runs',
  'id trigger night requested_by started_at', 'swept_at ended_at', '');
--> statement-breakpoint
SELECT add_row_rules('expiry_items',
  'run_id receipt_id', 'decided_at', 'PENDING>EXPIRED PENDING>FAILED');
--> statement-breakpoint
-- The audit log and the API keys.

-- An audit entry of a mutation gets its outcome once. Nothing else about the entry changes, and it is deleted
-- only after its export.
CREATE FUNCTION check_audit_entry_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  allowed audit_entries := OLD;
BEGIN
  allowed.outcome := NEW.outcome;
  allowed.ended_at := NEW.ended_at;
  allowed.target_ids := NEW.target_ids;
  IF OLD.outcome IS NOT NULL OR NEW.outcome IS NULL OR NOT NEW.target_ids @> OLD.target_ids OR NEW IS DISTINCT FROM allowed THEN
    RAISE EXCEPTION 'audit entry % is append-only', OLD.id USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER audit_entries_outcome_once BEFORE UPDATE ON audit_entries FOR EACH ROW EXECUTE FUNCTION check_audit_entry_change();
--> statement-breakpoint
CREATE FUNCTION check_audit_entry_removal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.number > (SELECT pruned FROM audit_writers WHERE id = OLD.writer_id) THEN
    RAISE EXCEPTION 'audit entry % is append-only', OLD.id USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN OLD;
END $$;
--> statement-breakpoint
CREATE TRIGGER audit_entries_no_delete BEFORE DELETE ON audit_entries FOR EACH ROW EXECUTE FUNCTION check_audit_entry_removal();
--> statement-breakpoint
-- Inserts entries, and numbers them in their order. `outcomes` are the outcomes of the entries' postings: an
-- entry of a posting that was not posted is left out. Without `outcomes` all entries are inserted, except
-- those that exist already after a lost answer.
CREATE FUNCTION insert_audit_entries(writer uuid, version text, rows json, outcomes text[] DEFAULT NULL) RETURNS void LANGUAGE plpgsql SET search_path = public, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  WITH listed AS MATERIALIZED (
    SELECT * FROM ROWS FROM (json_to_recordset(rows) AS (posting int, id uuid, kind audit_entry_kind, started_at timestamptz,
        request_id text, caller_subject text, caller_roles text[], api_key_id uuid, remote_address text, field text, outcome text,
        ended_at timestamptz, target_ids text[])) WITH ORDINALITY
      AS e (posting, id, kind, started_at, request_id, caller_subject, caller_roles, api_key_id, remote_address, field,
        outcome, ended_at, target_ids, place)
    -- Reads one row by its id, because a plan for NOT EXISTS may read the whole table.
    WHERE CASE WHEN outcomes IS NULL THEN (SELECT a.id FROM audit_entries a WHERE a.id = e.id) IS NULL
      ELSE outcomes[e.posting] = 'POSTED' END
  ), counted AS (SELECT count(*) AS entries FROM listed), w AS (
    INSERT INTO audit_writers AS w (id, started_at, program_version, entries)
      SELECT writer, now(), version, c.entries FROM counted c WHERE c.entries > 0
    ON CONFLICT (id) DO UPDATE SET entries = w.entries + excluded.entries
    RETURNING w.entries
  )
  INSERT INTO audit_entries (id, kind, writer_id, number, started_at, request_id, caller_subject, caller_roles, api_key_id,
      remote_address, field, outcome, ended_at, target_ids)
    SELECT l.id, l.kind, writer, w.entries - c.entries + row_number() OVER (ORDER BY l.place), l.started_at, l.request_id,
      l.caller_subject, l.caller_roles, l.api_key_id, l.remote_address, l.field, l.outcome, l.ended_at, l.target_ids
    FROM listed l, counted c, w;
END $$;
--> statement-breakpoint
-- Adds outcomes to entries that have none. The planner expects hardly any such entries, and would read all
-- entries for them: these settings leave it only the ids.
CREATE FUNCTION end_audit_entries(rows json) RETURNS void LANGUAGE sql SET search_path = public, pg_temp
SET enable_seqscan = off SET enable_indexscan = off SET enable_nestloop = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
  WITH ended AS MATERIALIZED (
    SELECT * FROM json_to_recordset(rows) AS e (id uuid, outcome text, ended_at timestamptz, target_ids text[]))
  UPDATE audit_entries AS entry
    SET outcome = ended.outcome, ended_at = ended.ended_at, target_ids = entry.target_ids || ended.target_ids
    FROM ended WHERE entry.id = ended.id AND entry.id = ANY (ARRAY(SELECT id FROM ended)) AND entry.outcome IS NULL
$$;
--> statement-breakpoint
-- A writer's count of entries only grows, so that missing entries are detected.
CREATE FUNCTION check_audit_writer_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.id, NEW.started_at, NEW.program_version) <> (OLD.id, OLD.started_at, OLD.program_version) OR NEW.entries < OLD.entries OR NEW.pruned < OLD.pruned
    OR (NEW.entries = OLD.entries AND NEW.pruned = OLD.pruned)
    OR (NEW.pruned > OLD.pruned AND NOT EXISTS (SELECT 1 FROM audit_prunings p
      WHERE p.writer_id = NEW.id AND p.from_number = OLD.pruned + 1 AND p.to_number = NEW.pruned))
  THEN
    RAISE EXCEPTION 'the entries of audit writer % only grow', OLD.id USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER audit_writers_only_grow BEFORE UPDATE ON audit_writers FOR EACH ROW EXECUTE FUNCTION check_audit_writer_change();
--> statement-breakpoint
-- The line of an entry in the operator's file. The time zone is fixed, so that a line is the same on every server.
CREATE FUNCTION audit_line(entry audit_entries) RETURNS text LANGUAGE sql STABLE SET timezone = 'UTC'
RETURN to_jsonb(entry)::text;
--> statement-breakpoint
-- Removes the next entries of a writer, whose lines in the operator's file have this digest. A mutation
-- without an outcome belongs to a killed process: the export takes it once no mutation can be under way any
-- more.
--
-- The function runs as the owner of the tables: the application's role can remove entries only through it,
-- and none younger than 30 days. So the traces of a defect or of injected SQL stay visible for as long.
CREATE FUNCTION prune_audit_entries(writer uuid, first bigint, up_to bigint, digest bytea) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  pruned_before bigint;
  here bigint;
  lines bytea;
BEGIN
  SELECT pruned INTO STRICT pruned_before FROM audit_writers WHERE id = writer FOR UPDATE;
  -- The digest covers all lines from the first entry that is not pruned.
  IF first <> pruned_before + 1 THEN
    RAISE EXCEPTION 'entries of audit writer % are removed up to %, by another export', writer, pruned_before
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  -- The minimum that the export lets an operator keep (cli/auditExport.ts).
  IF EXISTS (SELECT FROM audit_entries
      WHERE writer_id = writer AND number <= up_to AND started_at > clock_timestamp() - interval '30 days') THEN
    RAISE EXCEPTION 'entries of audit writer % up to % are younger than 30 days', writer, up_to
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  -- The transparency log keeps the entries' hashes. An entry whose outcome the log lacks can't be deleted,
  -- because transparency_open_entries references it. Of an entry without an outcome the log has everything.
  IF up_to > coalesce((SELECT number FROM transparency_audit_writers WHERE writer_id = writer), 0) THEN
    RAISE EXCEPTION 'entries of audit writer % up to % are not in the transparency log yet', writer, up_to
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  DELETE FROM transparency_open_entries o USING audit_entries e
    WHERE e.id = o.entry_id AND e.writer_id = writer AND e.number <= up_to AND e.outcome IS NULL;
  INSERT INTO audit_prunings VALUES (writer, first, up_to, digest, clock_timestamp());
  UPDATE audit_writers SET pruned = up_to WHERE id = writer;
  -- The digest is compared with the rows as they are removed: an outcome that is added after the lines were
  -- read would be lost.
  WITH removed AS (DELETE FROM audit_entries e WHERE writer_id = writer AND number <= up_to RETURNING e AS entry)
    SELECT count(*), sha256(convert_to(string_agg(audit_line(entry) || E'\n', '' ORDER BY (entry).number), 'UTF8'))
    INTO here, lines FROM removed;
  -- After the pruning, only their numbers prove the entries.
  IF here <> up_to - pruned_before THEN
    RAISE EXCEPTION 'of the entries of audit writer % from % to %, only % are there', writer, first, up_to, here
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF digest IS DISTINCT FROM lines THEN
    RAISE EXCEPTION 'entries of audit writer % from % to % are not the lines of this digest: export them again', writer, first, up_to
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
END $$;
--> statement-breakpoint
REVOKE ALL ON FUNCTION prune_audit_entries FROM PUBLIC;
--> statement-breakpoint
-- A revocation is never taken back: it can only cover more tokens, and is removed when those have expired.
CREATE TRIGGER token_revocations_stay BEFORE DELETE ON token_revocations
  FOR EACH ROW WHEN (OLD.ends_at >= now()) EXECUTE FUNCTION refuse_change();
--> statement-breakpoint
CREATE TRIGGER token_revocations_grow BEFORE UPDATE ON token_revocations
  FOR EACH ROW WHEN (((NEW.id, NEW.jti, NEW.subject) IS NOT DISTINCT FROM (OLD.id, OLD.jti, OLD.subject)
    AND NEW.issued_until >= OLD.issued_until AND NEW.ends_at >= OLD.ends_at) IS NOT TRUE) EXECUTE FUNCTION refuse_change();
--> statement-breakpoint
-- Counters of one minute: a crash of the database may reset them.
ALTER TABLE rate_limits SET UNLOGGED;
--> statement-breakpoint
-- These tables are queues at their end and archives before: each step leaves dead rows. The default
-- threshold, a share of all rows, would let these grow with the archive. While dead rows are on fewer than a
-- fiftieth of the pages, PostgreSQL skips the indexes: those of due and open rows are read all the time,
-- which marks dead entries and reuses their space.
ALTER TABLE submissions SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
--> statement-breakpoint
ALTER TABLE off_ramp_sessions SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
--> statement-breakpoint
-- The indexes of unsettled rows are read seldom, so a vacuum starts once it would process indexes at all.
ALTER TABLE retirements SET (autovacuum_vacuum_scale_factor = 0.02);
--> statement-breakpoint
ALTER TABLE attempts SET (autovacuum_vacuum_scale_factor = 0.02);
--> statement-breakpoint
-- An attempt that replaces another has the same call and slot, and the replaced one can still land: at most
-- one of the two lands, because the network accepts each slot once.
CREATE FUNCTION check_replacement() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE earlier attempts;
BEGIN
  SELECT * INTO earlier FROM attempts WHERE hash = NEW.replaces FOR UPDATE;
  IF earlier.state <> 'OPEN' THEN
    RAISE EXCEPTION 'attempt % can not be replaced: it is decided', earlier.hash
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  IF NEW.sequence IS NULL OR (NEW.submission_id, NEW.source, NEW.sequence)
     IS DISTINCT FROM (earlier.submission_id, earlier.source, earlier.sequence) THEN
    RAISE EXCEPTION 'attempt % must replace % in its own slot', NEW.hash, earlier.hash
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER attempts_replacement BEFORE INSERT ON attempts
  FOR EACH ROW WHEN (NEW.replaces IS NOT NULL) EXECUTE FUNCTION check_replacement();
--> statement-breakpoint
-- A sequence above the assigned ones that the network expects was used elsewhere. So an assigned sequence is
-- unassigned only if it is the last, and its attempts are dead and never landed.
CREATE FUNCTION check_signing_account_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.address <> OLD.address OR NEW.next_sequence < OLD.next_sequence - 1
    OR NEW.next_sequence < OLD.next_sequence AND (SELECT bool_and(state = 'DEAD' AND cause IS NULL) FROM attempts
      WHERE source = OLD.address AND sequence = NEW.next_sequence) IS NOT TRUE
  THEN
    RAISE EXCEPTION 'the sequence of account % only goes up', OLD.address
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER signing_accounts_forward BEFORE UPDATE ON signing_accounts
  FOR EACH ROW EXECUTE FUNCTION check_signing_account_change();
--> statement-breakpoint
-- Keeps why signing was halted, whichever program halts it: the account has only the newest reason, and none
-- once signing goes on.
CREATE FUNCTION keep_signing_halt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.halted_because IS NULL THEN
    UPDATE signing_halts SET ended_at = greatest(clock_timestamp(), began_at) WHERE address = NEW.address AND ended_at IS NULL;
  ELSE
    INSERT INTO signing_halts (address, because, began_at) VALUES (NEW.address, NEW.halted_because, clock_timestamp());
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER signing_accounts_begin_halted AFTER INSERT ON signing_accounts
  FOR EACH ROW WHEN (NEW.halted_because IS NOT NULL) EXECUTE FUNCTION keep_signing_halt();
--> statement-breakpoint
CREATE TRIGGER signing_accounts_halted AFTER UPDATE OF halted_because ON signing_accounts
  FOR EACH ROW WHEN (NEW.halted_because IS DISTINCT FROM OLD.halted_because) EXECUTE FUNCTION keep_signing_halt();
--> statement-breakpoint
SELECT add_row_rules('signing_halts',
  'id address because began_at', 'ended_at decision_id replaced_ledger replaced_hash accepted_ledger accepted_hash', '');
--> statement-breakpoint
-- Holders' acts, and the off-ramp sessions that wait for them.

-- An act that was handed out for signing never changes, and is submitted once.
SELECT add_row_rules('holder_acts',
  'id kind call holder_address prepared_by off_ramp_session_id project_id format payload valid_until prepared_at_ledger created_at',
  'record_index', '');
--> statement-breakpoint
-- A session's depositor is fixed: custody never deposits for a holder, nor a holder for custody.
CREATE FUNCTION check_depositor() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM off_ramp_sessions c
      WHERE c.id = NEW.target_id AND c.depositor::text <> NEW.signer::text) THEN
    RAISE EXCEPTION 'the deposit of cash-out % is not to be signed by %', NEW.target_id, NEW.signer
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER submissions_depositor BEFORE INSERT ON submissions
  FOR EACH ROW WHEN (NEW.kind IN ('setAllowance', 'depositOffRamp')) EXECUTE FUNCTION check_depositor();
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
--> statement-breakpoint
-- Prices.

CREATE FUNCTION check_price_number() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.number <> 1 + (SELECT coalesce(max(p.number), 0) FROM project_prices p WHERE p.project_id = NEW.project_id) THEN
    RAISE EXCEPTION 'price % of project % does not follow the last one', NEW.number, NEW.project_id
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER project_prices_follow BEFORE INSERT ON project_prices FOR EACH ROW EXECUTE FUNCTION check_price_number();
--> statement-breakpoint
-- Caps of issuance.

CREATE FUNCTION check_cap_number() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  earlier issuance_caps;
BEGIN
  SELECT * INTO earlier FROM issuance_caps c
    WHERE c.warehouse_id = NEW.warehouse_id AND c.commodity_key = NEW.commodity_key ORDER BY c.number DESC LIMIT 1;
  IF NEW.number <> 1 + coalesce(earlier.number, 0) OR NEW.id <> earlier.id THEN
    RAISE EXCEPTION 'cap % of % at warehouse % does not follow the last one', NEW.number, NEW.commodity_key, NEW.warehouse_id
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER issuance_caps_follow BEFORE INSERT ON issuance_caps FOR EACH ROW EXECUTE FUNCTION check_cap_number();
--> statement-breakpoint
-- Retirements.

SELECT add_row_rules('retirements',
  'id project_id buyer_id beneficiary note beneficiary_id jurisdiction reason period_from period_until amount_tonnes created_at',
  'tx_hash record_index ledger settled_at',
  'PENDING>RETIRED PENDING>REFUSED PENDING>NEEDS_REVIEW NEEDS_REVIEW>PENDING NEEDS_REVIEW>RETIRED NEEDS_REVIEW>REFUSED');
--> statement-breakpoint
-- The transparency logs only grow.

CREATE TRIGGER transparency_heads_grow BEFORE UPDATE ON transparency_heads
  FOR EACH ROW WHEN (NEW.log <> OLD.log OR NEW.size < OLD.size OR (NEW.size = OLD.size AND NEW.root <> OLD.root))
  EXECUTE FUNCTION refuse_change();
--> statement-breakpoint
CREATE TRIGGER transparency_tiles_grow BEFORE UPDATE ON transparency_tiles
  FOR EACH ROW WHEN ((NEW.log, NEW.level, NEW.index) <> (OLD.log, OLD.level, OLD.index)
    OR substring(NEW.hashes FOR octet_length(OLD.hashes)) <> OLD.hashes
    OR NEW.row_ids[:cardinality(OLD.row_ids)] IS DISTINCT FROM OLD.row_ids) EXECUTE FUNCTION refuse_change();
--> statement-breakpoint
CREATE TRIGGER transparency_audit_writers_grow BEFORE UPDATE ON transparency_audit_writers
  FOR EACH ROW WHEN (NEW.writer_id <> OLD.writer_id OR NEW.number < OLD.number) EXECUTE FUNCTION refuse_change();
--> statement-breakpoint
-- Triggers read the tables of this schema. With the writer's search path, a temporary table of the same name
-- would come first, and the rule would check that table instead.
DO $$
DECLARE
  rule regprocedure;
BEGIN
  FOR rule IN SELECT DISTINCT t.tgfoid::regprocedure FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE NOT t.tgisinternal AND c.relnamespace = 'public'::regnamespace
  LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = public, pg_temp', rule);
  END LOOP;
END $$;
