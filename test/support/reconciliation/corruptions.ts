/**
 * Corruptions of several rows or columns at once, made with the database's rules switched off, or visible on
 * the network only. Each names the invariant that must be found broken. They change the history of
 * richHistory.ts. Corruptions of one row, or of one column of a row, are generated (generatedCorruptions.ts).
 */

export interface Corruption {
  name: string;
  invariant: string;
  /** Statements that change at least one row each. */
  sql: string;
  /** No changed row is left that an incremental run would read. */
  isDeletion?: true;
  /** All other rows are changed consistently, so no other invariant finds the corruption. */
  isHidden?: true;
}

const A_PURCHASE = `(SELECT id FROM transfers WHERE kind = 'purchase' ORDER BY id LIMIT 1)`;
const A_RETIRED = `(SELECT id FROM retirements WHERE state = 'RETIRED' ORDER BY record_index LIMIT 1)`;
const A_SUCCEEDED = `(SELECT id FROM submissions WHERE kind = 'retire' AND signer = 'CUSTODY' AND state = 'SUCCEEDED' ORDER BY id LIMIT 1)`;
const A_DEPLOY = `(SELECT id FROM submissions WHERE kind = 'deployCarbonCredit' ORDER BY id LIMIT 1)`;
const LAST_RECORD = `position = (SELECT max(position) FROM retirement_records)`;
const accountOf = (buyer: string) =>
  `(SELECT id FROM accounts WHERE kind = 'buyer' AND owner_id = '${buyer}' ORDER BY id LIMIT 1)`;
const SETTLED = `state = 'SETTLED'`;
const REFUNDED = `state = 'REFUNDED'`;
const WAITING = `state = 'AWAITING_PAYOUT'`;
const MOVE_CREDITS = `
  UPDATE accounts SET balance_tonnes = balance_tonnes - 10 WHERE id = ${accountOf('acme')};
  UPDATE accounts SET balance_tonnes = balance_tonnes + 10 WHERE id = ${accountOf('globex')}`;

export const BOOKS_CORRUPTIONS: readonly Corruption[] = [
  {
    name: 'credits are moved between buyers',
    invariant: 'I1',
    sql: MOVE_CREDITS,
  },
  {
    name: 'credits are moved between buyers, with their last entries',
    invariant: 'I1',
    sql: `${MOVE_CREDITS};
      UPDATE transfers SET debit_balance_tonnes = debit_balance_tonnes - 10 WHERE debit_account_id = ${accountOf('acme')}
        AND debit_version = (SELECT version FROM accounts WHERE id = ${accountOf('acme')});
      UPDATE transfers SET credit_balance_tonnes = credit_balance_tonnes + 10 WHERE credit_account_id = ${accountOf('globex')}
        AND credit_version = (SELECT version FROM accounts WHERE id = ${accountOf('globex')})`,
  },
  {
    name: 'buyers exchange their accounts',
    invariant: 'I11',
    sql: `UPDATE accounts SET owner_id = 'x' WHERE id = ${accountOf('acme')};
      UPDATE accounts SET owner_id = 'acme' WHERE id = ${accountOf('globex')};
      UPDATE accounts SET owner_id = 'globex' WHERE owner_id = 'x'`,
  },
  {
    name: 'the two entries of a transfer change sides',
    invariant: 'I1',
    sql: `UPDATE transfers SET debit_account_id = credit_account_id, debit_version = credit_version,
        credit_account_id = debit_account_id, credit_version = debit_version WHERE id = ${A_PURCHASE}`,
  },
  {
    name: 'a purchase is undone in the books, and the balances follow',
    invariant: 'I14',
    sql: `CREATE TEMP TABLE gone AS SELECT t.* FROM transfers t JOIN accounts a ON a.id = t.credit_account_id
        WHERE t.kind = 'purchase' AND a.owner_id = 'globex' ORDER BY a.balance_tonnes DESC LIMIT 1;
      UPDATE accounts a SET balance_tonnes = 0, version = 0 FROM gone g WHERE a.id = g.credit_account_id;
      UPDATE accounts a SET balance_tonnes = a.balance_tonnes + g.amount_tonnes, version = a.version - 1 FROM gone g WHERE a.id = g.debit_account_id;
      DELETE FROM transfers WHERE id IN (SELECT id FROM gone);
      DROP TABLE gone`,
  },
  {
    name: 'a hold is charged to another buyer',
    invariant: 'I11',
    sql: `UPDATE transfers t SET debit_account_id = a.id, debit_version = 1000 FROM accounts a
      WHERE t.kind = 'retirement_hold' AND t.cause_id = ${A_RETIRED}
        AND a.project_id = t.project_id AND a.kind = 'buyer' AND a.id <> t.debit_account_id`,
  },
  {
    name: 'returned credits go to another buyer',
    invariant: 'I11',
    sql: `UPDATE transfers t SET credit_account_id = a.id, credit_version = 1000 FROM accounts a
      WHERE t.kind = 'retirement_return' AND a.project_id = t.project_id AND a.kind = 'buyer' AND a.id <> t.credit_account_id`,
  },
  {
    name: 'a project was verified for more',
    invariant: 'I3',
    sql: `UPDATE projects SET quantity_tonnes = quantity_tonnes + 1 WHERE id = (SELECT id FROM projects ORDER BY id LIMIT 1)`,
  },
  {
    name: 'a project names a token that is missing',
    invariant: 'I3',
    sql: `UPDATE projects SET token_address = (SELECT settlement_address FROM off_ramp_sessions LIMIT 1)
      WHERE id = (SELECT id FROM projects ORDER BY created_at LIMIT 1)`,
  },
];

export const CREDIT_CORRUPTIONS: readonly Corruption[] = [
  {
    name: 'a purchase is forged, and the balances follow',
    invariant: 'I14',
    sql: `INSERT INTO transfers (id, kind, project_id, cause_id, amount_tonnes, created_at,
          debit_account_id, debit_version, debit_balance_tonnes, credit_account_id, credit_version, credit_balance_tonnes)
        SELECT forged, 'purchase', d.project_id, forged, 1, now(), d.id, d.version + 1, d.balance_tonnes - 1, c.id, c.version + 1, c.balance_tonnes + 1
        FROM gen_random_uuid() AS forged, accounts d, accounts c
        WHERE c.id = ${accountOf('acme')} AND d.kind = 'inventory' AND d.project_id = c.project_id;
      UPDATE accounts a SET version = t.debit_version, balance_tonnes = t.debit_balance_tonnes FROM transfers t
        WHERE a.id = t.debit_account_id AND t.debit_version = a.version + 1;
      UPDATE accounts a SET version = t.credit_version, balance_tonnes = t.credit_balance_tonnes FROM transfers t
        WHERE a.id = t.credit_account_id AND t.credit_version = a.version + 1`,
  },
  {
    name: 'a retirement and its feed record are altered alike',
    invariant: 'I4',
    sql: `UPDATE retirement_records SET note = 'altered'
        WHERE (project_id, index) = (SELECT project_id, record_index FROM retirements WHERE id = ${A_RETIRED});
      UPDATE submissions SET call = jsonb_set(call, '{note}', '"altered"') WHERE target_id = ${A_RETIRED};
      UPDATE retirements SET note = 'altered' WHERE id = ${A_RETIRED}`,
  },
  {
    name: 'two retirements exchange their records',
    invariant: 'I12',
    sql: `UPDATE retirements SET record_index = 100 WHERE note = 'one';
      UPDATE retirements SET record_index = 0 WHERE note = 'two';
      UPDATE retirements SET record_index = 1 WHERE note = 'one'`,
  },
  {
    name: 'a refused retirement is shown as retired',
    invariant: 'I5',
    sql: `UPDATE retirements SET state = 'RETIRED', tx_hash = repeat('ab', 32), record_index = 77 WHERE state = 'REFUSED'`,
  },
  {
    name: 'a retirement under review is shown as refused',
    invariant: 'I5',
    sql: `UPDATE retirements SET state = 'REFUSED', settled_at = now() WHERE state = 'NEEDS_REVIEW'`,
  },
];

export const SUBMISSION_CORRUPTIONS: readonly Corruption[] = [
  {
    name: 'an attempt has another hash, and so has everything that names it',
    invariant: 'I12',
    sql: `UPDATE attempts SET hash = repeat('ab', 32) WHERE submission_id = ${A_SUCCEEDED};
      UPDATE retirements SET tx_hash = repeat('ab', 32) WHERE id = (SELECT target_id FROM submissions WHERE id = ${A_SUCCEEDED});
      UPDATE submissions SET tx_hash = repeat('ab', 32) WHERE id = ${A_SUCCEEDED}`,
  },
  {
    name: 'a submission is deleted with its attempts',
    invariant: 'I5',
    sql: `DELETE FROM attempts WHERE submission_id = ${A_SUCCEEDED}; DELETE FROM submissions WHERE id = ${A_SUCCEEDED}`,
  },
  {
    name: "a project's deploy is deleted with its attempts",
    invariant: 'I12',
    sql: `DELETE FROM attempts WHERE submission_id = ${A_DEPLOY}; DELETE FROM submissions WHERE id = ${A_DEPLOY}`,
  },
  {
    name: 'a burn that is under way is shown as refused, with its retirement',
    invariant: 'I12',
    sql: `UPDATE submissions SET state = 'REFUSED', settled_at = now() WHERE kind = 'retire' AND state = 'PENDING';
      UPDATE retirements SET state = 'REFUSED', settled_at = now() WHERE state = 'PENDING'`,
  },
];

export const FEED_CORRUPTIONS: readonly Corruption[] = [
  {
    name: 'a last record is forged, and the head with it',
    invariant: 'I10',
    sql: `INSERT INTO retirement_records (position, project_id, token_address, index, retired_by, amount_base_units, timestamp, beneficiary, note, tx_hash, appended_at)
        SELECT position + 1, project_id, token_address, index + 1, retired_by, amount_base_units, timestamp, 'Mallory', note, NULL, appended_at
        FROM retirement_records WHERE ${LAST_RECORD};
      UPDATE feed_head SET position = position + 1`,
  },
  {
    name: 'two records exchange their positions',
    invariant: 'I10',
    sql: `UPDATE retirement_records SET position = 1000 WHERE position = 1;
      UPDATE retirement_records SET position = 1 WHERE position = 2;
      UPDATE retirement_records SET position = 2 WHERE position = 1000`,
  },
  {
    name: 'a foreign record has another beneficiary',
    invariant: 'I10',
    sql: `UPDATE retirement_records SET beneficiary = 'Mallory' WHERE beneficiary = 'Foreign'`,
  },
];

export const CASH_OUT_CORRUPTIONS: readonly Corruption[] = [
  {
    name: 'a session that was settled is shown as refunded',
    invariant: 'I13',
    sql: `UPDATE off_ramp_sessions SET state = 'REFUNDED', resolution = 'REFUND' WHERE ${SETTLED}`,
  },
  {
    name: 'a session that was refunded is shown as settled, with everything in the database',
    invariant: 'I13',
    sql: `UPDATE submissions SET kind = 'confirmOffRampSettlement', call = jsonb_set(call, '{kind}', '"confirmOffRampSettlement"')
        WHERE kind = 'refundOffRamp';
      UPDATE off_ramp_provider_statuses SET status = 'settled' WHERE status = 'failed'
        AND off_ramp_session_id = (SELECT id FROM off_ramp_sessions WHERE ${REFUNDED});
      UPDATE off_ramp_sessions SET state = 'SETTLED', resolution = 'SETTLE', provider_status = 'settled' WHERE ${REFUNDED}`,
  },
  {
    name: 'a session has another amount',
    invariant: 'I13',
    sql: `UPDATE off_ramp_sessions SET token_amount_kg = token_amount_kg + 1 WHERE ${SETTLED}`,
  },
  {
    name: 'custody has paid for more kilograms than the receipt is of',
    invariant: 'I13',
    sql: `UPDATE receipts SET quantity_kg = 1 WHERE id = (SELECT receipt_id FROM off_ramp_sessions WHERE ${SETTLED} LIMIT 1)`,
  },
  {
    name: 'a session is to be deposited by no call',
    invariant: 'I5',
    sql: `UPDATE off_ramp_sessions SET state = 'DEPOSITING', deposited_at = NULL WHERE ${WAITING}`,
  },
  {
    name: 'a session is to be confirmed by no call',
    invariant: 'I5',
    sql: `UPDATE off_ramp_sessions SET state = 'CONFIRMING', resolution = 'SETTLE' WHERE ${WAITING}`,
  },
  {
    name: 'a session is to be refunded by no call',
    invariant: 'I5',
    sql: `UPDATE off_ramp_sessions SET state = 'REFUNDING', resolution = 'REFUND' WHERE ${WAITING}`,
  },
  {
    name: 'an open deposit is forgotten',
    invariant: 'I9',
    sql: `UPDATE off_ramp_sessions SET state = 'CLOSED', deposited_at = NULL, ended_at = now(), state_reason = 'x' WHERE ${WAITING}`,
  },
  {
    name: 'a receipt has another quantity',
    invariant: 'I3',
    sql: `UPDATE receipts SET quantity_kg = quantity_kg + 1 WHERE id = (SELECT id FROM receipts LIMIT 1)`,
  },
  {
    name: 'a receipt names a token that is missing',
    invariant: 'I3',
    sql: `UPDATE receipts SET token_address = (SELECT settlement_address FROM off_ramp_sessions LIMIT 1) WHERE id = (SELECT id FROM receipts LIMIT 1)`,
  },
];

export const HISTORY_CORRUPTIONS: readonly Corruption[] = [
  {
    name: 'the last entry of a process in the audit log is deleted',
    invariant: 'I14',
    sql: `DELETE FROM audit_entries WHERE number = 5`,
  },
  {
    name: 'every entry of a process in the audit log is deleted',
    invariant: 'I14',
    sql: `DELETE FROM audit_entries WHERE writer_id = (SELECT writer_id FROM audit_entries WHERE number = 5)`,
  },
  {
    name: 'an entry of the audit log is forged, of a process that is missing',
    invariant: 'I14',
    sql: `INSERT INTO audit_entries SELECT (jsonb_populate_record(e,
        jsonb_build_object('id', gen_random_uuid(), 'writer_id', gen_random_uuid(), 'number', 1))).* FROM audit_entries e WHERE number = 5`,
  },
  {
    name: 'an entry of the audit log is deleted as if it were pruned',
    invariant: 'I14',
    sql: `WITH gone AS (DELETE FROM audit_entries WHERE number = 1)
      UPDATE audit_writers SET pruned = 1`,
  },
];
