/**
 * Single corruptions of a database, as possible with access to it and its rules switched off; each with the
 * invariant that must be found broken. They are made of the history in richHistory.ts.
 */

export interface Corruption {
  name: string;
  invariant: string;
  /** Statements that change at least one row each. */
  sql: string;
  /** No row is left that has changed, and that an incremental run would look at. */
  isDeletion?: true;
  /** Everything else in the database is changed alike: no other invariant finds it. */
  isHidden?: true;
}

const A_PURCHASE = `(SELECT id FROM transfers WHERE kind = 'purchase' ORDER BY id LIMIT 1)`;
const A_RETIRED = `(SELECT id FROM retirements WHERE state = 'RETIRED' ORDER BY record_index LIMIT 1)`;
const A_SUCCEEDED = `(SELECT id FROM submissions WHERE kind = 'retire' AND signer = 'CUSTODY' AND state = 'SUCCEEDED' ORDER BY id LIMIT 1)`;
const LAST_RECORD = `position = (SELECT max(position) FROM retirement_records)`;
const accountOf = (buyer: string) =>
  `(SELECT id FROM accounts WHERE kind = 'buyer' AND owner_id = '${buyer}' ORDER BY id LIMIT 1)`;
const SETTLED = `state = 'SETTLED'`;
const REFUNDED = `state = 'REFUNDED'`;
const WAITING = `state = 'AWAITING_PAYOUT'`;
const MOVE_CREDITS = `
  UPDATE accounts SET balance = balance - 10 WHERE id = ${accountOf('acme')};
  UPDATE accounts SET balance = balance + 10 WHERE id = ${accountOf('globex')}`;

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
      UPDATE transfers SET debit_balance = debit_balance - 10 WHERE debit_account_id = ${accountOf('acme')}
        AND debit_version = (SELECT version FROM accounts WHERE id = ${accountOf('acme')});
      UPDATE transfers SET credit_balance = credit_balance + 10 WHERE credit_account_id = ${accountOf('globex')}
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
    name: 'an account is of another buyer',
    invariant: 'I11',
    sql: `UPDATE accounts SET owner_id = 'mallory' WHERE id = ${accountOf('acme')}`,
  },
  {
    name: 'an account is of another project',
    invariant: 'I11',
    sql: `UPDATE accounts SET project_id = (SELECT id FROM projects ORDER BY id DESC LIMIT 1), owner_id = 'mallory'
      WHERE id = (SELECT id FROM accounts WHERE kind = 'buyer' AND project_id = (SELECT id FROM projects ORDER BY id LIMIT 1) LIMIT 1)`,
  },
  {
    name: 'an account is of another kind',
    invariant: 'I11',
    sql: `DELETE FROM accounts a WHERE kind = 'retired' AND project_id = (SELECT id FROM projects ORDER BY id LIMIT 1);
      UPDATE accounts SET kind = 'retired' WHERE kind = 'retiring' AND project_id = (SELECT id FROM projects ORDER BY id LIMIT 1)`,
  },
  {
    name: 'an account is deleted',
    invariant: 'I1',
    sql: `DELETE FROM accounts WHERE id = ${accountOf('globex')}`,
  },
  {
    name: 'a balance is raised',
    invariant: 'I1',
    sql: `UPDATE accounts SET balance = balance + 1 WHERE id = ${accountOf('acme')}`,
  },
  {
    name: 'a version is changed',
    invariant: 'I1',
    sql: `UPDATE accounts SET version = version + 1 WHERE id = ${accountOf('acme')}`,
  },
  {
    name: 'the two entries of a transfer change sides',
    invariant: 'I1',
    sql: `UPDATE transfers SET debit_account_id = credit_account_id, debit_version = credit_version,
        credit_account_id = debit_account_id, credit_version = debit_version WHERE id = ${A_PURCHASE}`,
  },
  {
    name: 'an entry does not continue the one before',
    invariant: 'I1',
    sql: `UPDATE transfers SET debit_balance = debit_balance + 1 WHERE debit_account_id = ${accountOf('acme')} AND debit_version = 2`,
  },
  {
    name: 'an entry has another version',
    invariant: 'I1',
    sql: `UPDATE transfers SET credit_version = 1000 WHERE id = ${A_PURCHASE}`,
  },
  {
    name: 'an entry is of an account that is missing',
    invariant: 'I1',
    sql: `UPDATE transfers SET credit_account_id = 1000 WHERE id = ${A_PURCHASE}`,
  },
  {
    name: 'a transfer is deleted',
    invariant: 'I1',
    sql: `DELETE FROM transfers WHERE id = ${A_PURCHASE}`,
  },
  {
    name: 'a purchase is undone in the books, and the balances follow',
    invariant: 'I14',
    sql: `CREATE TEMP TABLE gone AS SELECT t.* FROM transfers t JOIN accounts a ON a.id = t.credit_account_id
        WHERE t.kind = 'purchase' AND a.owner_id = 'globex' ORDER BY a.balance DESC LIMIT 1;
      UPDATE accounts a SET balance = 0, version = 0 FROM gone g WHERE a.id = g.credit_account_id;
      UPDATE accounts a SET balance = a.balance + g.amount, version = a.version - 1 FROM gone g WHERE a.id = g.debit_account_id;
      DELETE FROM transfers WHERE id IN (SELECT id FROM gone);
      DROP TABLE gone`,
  },
  {
    name: 'a transfer has another amount',
    invariant: 'I11',
    sql: `UPDATE transfers SET amount = amount - 1 WHERE reference_id = ${A_PURCHASE}`,
  },
  {
    name: 'a transfer is of another kind',
    invariant: 'I11',
    sql: `UPDATE transfers SET kind = 'retirement_return', unit_price = NULL, price_currency = NULL
      WHERE kind = 'purchase' AND reference_id = ${A_PURCHASE}`,
  },
  {
    name: 'a transfer is of another project',
    invariant: 'I11',
    sql: `UPDATE transfers t SET project_id = (SELECT id FROM projects WHERE id <> t.project_id LIMIT 1) WHERE reference_id = ${A_PURCHASE}`,
  },
  {
    name: 'a transfer is for something else',
    invariant: 'I11',
    sql: `UPDATE transfers SET reference_id = gen_random_uuid() WHERE reference_id = ${A_RETIRED} AND kind = 'retirement_settle'`,
  },
  {
    name: 'the issue of a project is of another amount',
    invariant: 'I11',
    sql: `UPDATE transfers SET amount = amount - 1 WHERE kind = 'issue' AND reference_id = (SELECT id FROM projects LIMIT 1)`,
  },
  {
    name: 'a hold is charged to another buyer',
    invariant: 'I11',
    sql: `UPDATE transfers t SET debit_account_id = a.id, debit_version = 1000 FROM accounts a
      WHERE t.kind = 'retirement_hold' AND t.reference_id = ${A_RETIRED}
        AND a.project_id = t.project_id AND a.kind = 'buyer' AND a.id <> t.debit_account_id`,
  },
  {
    name: 'returned credits go to another buyer',
    invariant: 'I11',
    sql: `UPDATE transfers t SET credit_account_id = a.id, credit_version = 1000 FROM accounts a
      WHERE t.kind = 'retirement_return' AND a.project_id = t.project_id AND a.kind = 'buyer' AND a.id <> t.credit_account_id`,
  },
  {
    name: 'a project is deleted',
    invariant: 'I11',
    sql: `DELETE FROM projects WHERE id = (SELECT id FROM projects ORDER BY created_at LIMIT 1)`,
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
    sql: `INSERT INTO transfers (id, kind, project_id, reference_id, amount, created_at,
          debit_account_id, debit_version, debit_balance, credit_account_id, credit_version, credit_balance)
        SELECT forged, 'purchase', d.project_id, forged, 1, now(), d.id, d.version + 1, d.balance - 1, c.id, c.version + 1, c.balance + 1
        FROM gen_random_uuid() AS forged, accounts d, accounts c
        WHERE c.id = ${accountOf('acme')} AND d.kind = 'inventory' AND d.project_id = c.project_id;
      UPDATE accounts a SET version = t.debit_version, balance = t.debit_balance FROM transfers t
        WHERE a.id = t.debit_account_id AND t.debit_version = a.version + 1;
      UPDATE accounts a SET version = t.credit_version, balance = t.credit_balance FROM transfers t
        WHERE a.id = t.credit_account_id AND t.credit_version = a.version + 1`,
  },
  {
    name: 'a purchase is deleted',
    invariant: 'I14',
    sql: `DELETE FROM transfers WHERE id = ${A_PURCHASE}`,
  },
  {
    name: 'a purchase has another amount',
    invariant: 'I11',
    sql: `UPDATE transfers SET amount = amount - 1 WHERE id = ${A_PURCHASE}`,
  },
  {
    name: 'a purchase is of another buyer',
    invariant: 'I11',
    sql: `UPDATE transfers SET credit_account_id = (SELECT max(id) FROM accounts WHERE kind = 'buyer'), credit_version = 1000 WHERE id = ${A_PURCHASE}`,
  },
  {
    name: 'a purchase is of another project',
    invariant: 'I11',
    sql: `UPDATE transfers u SET project_id = (SELECT id FROM projects WHERE id <> u.project_id LIMIT 1) WHERE id = ${A_PURCHASE}`,
  },
  {
    name: 'a key of a purchase was for another input',
    invariant: 'I11',
    sql: `UPDATE idempotency_keys SET input_hash = repeat('ab', 32) WHERE subject_id = ${A_PURCHASE}`,
  },
  {
    name: 'a retirement is deleted',
    invariant: 'I11',
    sql: `DELETE FROM retirements WHERE id = ${A_RETIRED}`,
  },
  {
    name: 'a retirement has another amount',
    invariant: 'I11',
    sql: `UPDATE retirements SET amount_tonnes = amount_tonnes + 1 WHERE id = ${A_RETIRED}`,
  },
  {
    name: 'a retirement is of another buyer',
    invariant: 'I11',
    sql: `UPDATE retirements SET buyer_id = 'mallory' WHERE id = ${A_RETIRED}`,
  },
  {
    name: 'a retirement has another beneficiary',
    invariant: 'I4',
    sql: `UPDATE retirements SET beneficiary = 'Mallory' WHERE id = ${A_RETIRED}`,
  },
  {
    name: 'a retirement and its feed record are altered alike',
    invariant: 'I4',
    sql: `UPDATE retirement_records SET note = 'altered'
        WHERE (project_id, index) = (SELECT project_id, record_index FROM retirements WHERE id = ${A_RETIRED});
      UPDATE submissions SET call = jsonb_set(call, '{note}', '"altered"') WHERE subject_id = ${A_RETIRED};
      UPDATE retirements SET note = 'altered' WHERE id = ${A_RETIRED}`,
  },
  {
    name: 'a retirement names another transaction',
    invariant: 'I12',
    sql: `UPDATE retirements SET tx_hash = repeat('ab', 32) WHERE id = ${A_RETIRED}`,
  },
  {
    name: 'a retirement names another ledger',
    invariant: 'I12',
    sql: `UPDATE retirements SET ledger = ledger + 1 WHERE id = ${A_RETIRED}`,
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
    sql: `UPDATE retirements SET state = 'REFUSED' WHERE state = 'NEEDS_REVIEW'`,
  },
];

export const SUBMISSION_CORRUPTIONS: readonly Corruption[] = [
  {
    name: 'an attempt that landed is deleted',
    invariant: 'I12',
    sql: `DELETE FROM attempts WHERE submission_id = ${A_SUCCEEDED}`,
  },
  {
    name: 'an attempt that landed is marked dead',
    invariant: 'I12',
    sql: `UPDATE attempts SET state = 'DEAD' WHERE submission_id = ${A_SUCCEEDED}`,
  },
  {
    name: 'an attempt has another hash, and so has everything that names it',
    invariant: 'I12',
    sql: `UPDATE attempts SET hash = repeat('ab', 32) WHERE submission_id = ${A_SUCCEEDED};
      UPDATE retirements SET tx_hash = repeat('ab', 32) WHERE id = (SELECT subject_id FROM submissions WHERE id = ${A_SUCCEEDED});
      UPDATE submissions SET tx_hash = repeat('ab', 32) WHERE id = ${A_SUCCEEDED}`,
  },
  {
    name: 'an attempt belongs to a missing submission',
    invariant: 'I12',
    sql: `UPDATE attempts SET submission_id = gen_random_uuid() WHERE state = 'OPEN'`,
  },
  {
    name: 'a submission names another transaction',
    invariant: 'I12',
    sql: `UPDATE submissions SET tx_hash = repeat('ab', 32) WHERE id = ${A_SUCCEEDED}`,
  },
  {
    name: 'a submission has another result',
    invariant: 'I12',
    sql: `UPDATE submissions SET result = jsonb_set(result, '{retirementIndex}', '99') WHERE id = ${A_SUCCEEDED}`,
  },
  {
    name: 'a submission burned another amount',
    invariant: 'I12',
    sql: `UPDATE submissions SET call = jsonb_set(call, '{amount,$integer}', '"1"') WHERE id = ${A_SUCCEEDED}`,
  },
  {
    name: 'a submission is to mint to another address',
    invariant: 'I12',
    sql: `UPDATE submissions SET call = jsonb_set(call, '{to}', '"mallory"')
      WHERE kind = 'mint' AND subject_id = (SELECT id FROM projects LIMIT 1)`,
  },
  {
    name: 'a submission is deleted with its attempts',
    invariant: 'I5',
    sql: `DELETE FROM attempts WHERE submission_id = ${A_SUCCEEDED}; DELETE FROM submissions WHERE id = ${A_SUCCEEDED}`,
  },
  {
    name: 'a submission is for something that is missing',
    invariant: 'I12',
    sql: `UPDATE submissions SET subject_id = gen_random_uuid() WHERE id = ${A_SUCCEEDED}`,
  },
  {
    name: 'a submission that succeeded is pending again',
    invariant: 'I5',
    sql: `UPDATE submissions SET state = 'PENDING' WHERE id = ${A_SUCCEEDED}`,
  },
];

export const FEED_CORRUPTIONS: readonly Corruption[] = [
  {
    name: 'the last record is deleted',
    invariant: 'I10',
    sql: `DELETE FROM retirement_records WHERE ${LAST_RECORD}`,
  },
  {
    name: 'a record in the middle is deleted',
    invariant: 'I10',
    sql: `DELETE FROM retirement_records WHERE position = 2`,
  },
  {
    name: 'a last record is forged, and the head with it',
    invariant: 'I10',
    sql: `INSERT INTO retirement_records (position, project_id, token_address, index, retired_by, amount, timestamp, beneficiary, note, tx_hash, appended_at)
        SELECT position + 1, project_id, token_address, index + 1, retired_by, amount, timestamp, 'Mallory', note, NULL, appended_at
        FROM retirement_records WHERE ${LAST_RECORD};
      UPDATE feed_head SET position = position + 1`,
  },
  {
    name: 'the head goes back',
    invariant: 'I10',
    sql: `UPDATE feed_head SET position = position - 1`,
  },
  {
    name: 'the head is deleted',
    invariant: 'I10',
    sql: `DELETE FROM feed_head`,
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
  {
    name: 'a foreign record has another amount',
    invariant: 'I10',
    sql: `UPDATE retirement_records SET amount = amount + 1 WHERE beneficiary = 'Foreign'`,
  },
  {
    name: 'a foreign record has another time',
    invariant: 'I10',
    sql: `UPDATE retirement_records SET timestamp = timestamp + 1 WHERE beneficiary = 'Foreign'`,
  },
  {
    name: 'a foreign record has another maker',
    invariant: 'I10',
    sql: `UPDATE retirement_records SET retired_by = 'mallory' WHERE beneficiary = 'Foreign'`,
  },
  {
    name: 'a record names another transaction',
    invariant: 'I10',
    sql: `UPDATE retirement_records SET tx_hash = repeat('ab', 32) WHERE position = 1`,
  },
  {
    name: 'a record is kept for another project',
    invariant: 'I10',
    sql: `UPDATE retirement_records r SET project_id = (SELECT id FROM projects p WHERE p.id <> r.project_id LIMIT 1) WHERE position = 1`,
  },
  {
    name: 'a total of a day counts a retirement too many',
    invariant: 'I10',
    sql: `UPDATE retirement_totals SET retirements = retirements + 1 WHERE day IS NOT NULL AND country_code IS NOT NULL`,
  },
  {
    name: 'the total of a project is lost',
    invariant: 'I10',
    sql: `DELETE FROM retirement_totals WHERE project_id IS NOT NULL AND day IS NULL`,
  },
  {
    name: 'a holder’s act claims another record',
    invariant: 'I4',
    sql: `UPDATE holder_acts SET record_index = record_index - 1 WHERE record_index IS NOT NULL`,
  },
  {
    name: 'a holder’s act is deleted',
    invariant: 'I12',
    sql: `DELETE FROM holder_acts`,
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
        AND session_id = (SELECT id FROM off_ramp_sessions WHERE ${REFUNDED});
      UPDATE off_ramp_sessions SET state = 'SETTLED', resolution = 'SETTLE', provider_status = 'settled' WHERE ${REFUNDED}`,
  },
  {
    name: 'a session has another depositor',
    invariant: 'I13',
    sql: `UPDATE off_ramp_sessions SET depositor_address = 'mallory' WHERE ${SETTLED}`,
  },
  {
    name: 'a session has another amount',
    invariant: 'I13',
    sql: `UPDATE off_ramp_sessions SET token_amount_kg = token_amount_kg + 1 WHERE ${SETTLED}`,
  },
  {
    name: 'a session is of another token',
    invariant: 'I13',
    sql: `UPDATE off_ramp_sessions c SET token_address = (SELECT token_address FROM receipts r WHERE r.id <> c.receipt_id LIMIT 1) WHERE ${SETTLED}`,
  },
  {
    name: 'a session is of another receipt',
    invariant: 'I13',
    sql: `UPDATE off_ramp_sessions c SET receipt_id = (SELECT id FROM receipts r WHERE r.id <> c.receipt_id LIMIT 1) WHERE ${SETTLED}`,
  },
  {
    name: 'a session is deleted',
    invariant: 'I12',
    sql: `DELETE FROM off_ramp_sessions WHERE ${SETTLED}`,
  },
  {
    name: 'an open deposit is forgotten',
    invariant: 'I9',
    sql: `UPDATE off_ramp_sessions SET state = 'REFUSED', deposited_at = NULL, closed_at = now(), refusal_message = 'x' WHERE ${WAITING}`,
  },
  {
    name: 'a payout is larger than its quote',
    invariant: 'I13',
    sql: `UPDATE off_ramp_sessions SET fiat_amount = fiat_amount + 1000 WHERE ${SETTLED}`,
  },
  {
    name: 'a fee is smaller',
    invariant: 'I13',
    sql: `UPDATE off_ramp_sessions SET fee_fiat = fee_fiat - 1 WHERE ${SETTLED}`,
  },
  {
    name: 'a quote has another rate',
    invariant: 'I13',
    sql: `UPDATE off_ramp_sessions SET exchange_rate = exchange_rate * 2 WHERE ${SETTLED}`,
  },
  {
    name: 'a payout is in another currency',
    invariant: 'I13',
    sql: `UPDATE off_ramp_sessions SET fiat_currency = 'USD' WHERE ${SETTLED}`,
  },
  {
    name: 'the provider was to pay another amount',
    invariant: 'I13',
    sql: `UPDATE manual_ramp_sessions SET fiat_amount = fiat_amount + 1 WHERE status = 'settled'`,
  },
  {
    name: 'the provider says that a settled payout failed',
    invariant: 'I8',
    sql: `UPDATE manual_ramp_sessions SET status = 'failed' WHERE status = 'settled'`,
  },
  {
    name: 'the provider’s session is deleted',
    invariant: 'I13',
    sql: `DELETE FROM manual_ramp_sessions WHERE status = 'settled'`,
  },
  {
    name: 'a session names another session of the provider',
    invariant: 'I13',
    sql: `UPDATE off_ramp_sessions SET provider_session_id = 'manual_x' WHERE ${SETTLED}`,
  },
  {
    name: 'the provider’s last word is changed',
    invariant: 'I13',
    sql: `UPDATE off_ramp_sessions SET provider_status = 'processing' WHERE ${WAITING}`,
  },
  {
    name: 'a word of the provider is deleted',
    invariant: 'I13',
    sql: `DELETE FROM off_ramp_provider_statuses WHERE position = 0 AND session_id = (SELECT id FROM off_ramp_sessions WHERE ${SETTLED})`,
  },
  {
    name: 'a deposit names another transaction',
    invariant: 'I13',
    sql: `UPDATE off_ramp_sessions SET deposit_tx_hash = repeat('ab', 32) WHERE ${SETTLED}`,
  },
  {
    name: 'a release names another transaction',
    invariant: 'I13',
    sql: `UPDATE off_ramp_sessions SET resolution_tx_hash = repeat('ab', 32) WHERE ${REFUNDED}`,
  },
  {
    name: 'a receipt has another quantity',
    invariant: 'I3',
    sql: `UPDATE receipts SET quantity_kg = quantity_kg + 1 WHERE id = (SELECT id FROM receipts LIMIT 1)`,
  },
  {
    name: 'a receipt is of another farmer',
    invariant: 'I13',
    sql: `UPDATE receipts SET farmer_id = 'mallory' WHERE id = (SELECT receipt_id FROM off_ramp_sessions LIMIT 1)`,
  },
  {
    name: 'a receipt names a token that is missing',
    invariant: 'I3',
    sql: `UPDATE receipts SET token_address = (SELECT settlement_address FROM off_ramp_sessions LIMIT 1) WHERE id = (SELECT id FROM receipts LIMIT 1)`,
  },
  {
    name: 'a receipt is deleted',
    invariant: 'I13',
    sql: `DELETE FROM receipts WHERE id = (SELECT receipt_id FROM off_ramp_sessions LIMIT 1)`,
  },
  {
    name: 'a receipt names another mint',
    invariant: 'I12',
    sql: `UPDATE receipts SET mint_tx_hash = repeat('ab', 32) WHERE id = (SELECT id FROM receipts LIMIT 1)`,
  },
];

export const HISTORY_CORRUPTIONS: readonly Corruption[] = [
  ...[
    'createProject',
    'purchase',
    'transferCredits',
    'retire',
    'createDeposit',
    'cashOut',
    'prepareRetirement',
  ].map((operation) => ({
    name: `a key of ${operation} is deleted`,
    invariant: 'I14',
    sql: `DELETE FROM idempotency_keys WHERE operation = '${operation}' AND key = (SELECT min(key) FROM idempotency_keys WHERE operation = '${operation}')`,
  })),
  {
    name: 'a key stands for something that is missing',
    invariant: 'I14',
    sql: `INSERT INTO idempotency_keys SELECT caller_id, operation, 'forged', input_hash, gen_random_uuid(), created_at
      FROM idempotency_keys WHERE operation = 'purchase' LIMIT 1`,
  },
  {
    name: 'a key is of another operation',
    invariant: 'I14',
    sql: `UPDATE idempotency_keys SET operation = 'retire' WHERE key = (SELECT min(key) FROM idempotency_keys WHERE operation = 'purchase')`,
  },
  {
    name: 'an entry of the audit log is deleted',
    invariant: 'I14',
    sql: `DELETE FROM audit_entries WHERE number = 1`,
  },
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
    name: 'an entry of the audit log is deleted as if it were pruned',
    invariant: 'I14',
    sql: `WITH gone AS (DELETE FROM audit_entries WHERE number = 1)
      UPDATE audit_writers SET pruned = 1`,
  },
  {
    name: 'an entry of the audit log is forged',
    invariant: 'I14',
    sql: `INSERT INTO audit_entries (id, writer_id, number, started_at, request_id, caller_roles, remote_address, field, subject_ids)
      SELECT gen_random_uuid(), writer_id, number + 1, started_at, request_id, caller_roles, remote_address, field, subject_ids
      FROM audit_entries WHERE number = 5`,
  },
  {
    name: 'the count of a process in the audit log is lowered',
    invariant: 'I14',
    sql: `UPDATE audit_writers SET entries = entries - 1 WHERE entries = 5`,
  },
];
