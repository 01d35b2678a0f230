/**
 * States that hold the clauses of the queries of incremental runs (clauseCases.ts): a row has changed, and
 * contradicts rows that have not.
 */
import { FIRST, type ClauseCase } from './clauseCase.ts';

const A_PURCHASE = FIRST('transfers', `kind = 'purchase'`);
const RETIRED = FIRST('retirements', `state = 'RETIRED'`);
const SMALLEST_TOKEN = `(SELECT token_address FROM retirement_records GROUP BY 1 ORDER BY count(*) LIMIT 1)`;
const IS_NO_ENTRY = /^entry \d+ of account \S+ goes from/;
const NEVER_COST = /^purchase \S+ is at \S+ \w+ a tonne, which its project/;
const IS_NOT_LOGGED = /^transfer \S+ is not in the transparency log as it is now/;
const IS_NO_LEAF = /^leaf \d+ of the transparency log of retirements is not the record/;
const MISSES = /^the totals of project \S+, country \S+, vintage \S+, day \S+ miss/;
const OF_THE_FIVE = `writer_id = (SELECT id FROM audit_writers WHERE entries = 5)`;

const one = (name: string, says: RegExp, sql: string): ClauseCase => ({ name, says, sql });

export const CHANGED_CASES: readonly ClauseCase[] = [
  one(
    'the debited balance of a transfer',
    IS_NO_ENTRY,
    `UPDATE transfers SET debit_balance_tonnes = debit_balance_tonnes - 1 WHERE id = ${A_PURCHASE}`,
  ),
  one(
    'the credited balance of a transfer',
    IS_NO_ENTRY,
    `UPDATE transfers SET credit_balance_tonnes = credit_balance_tonnes + 1 WHERE id = ${A_PURCHASE}`,
  ),
  one(
    'the debited version of a transfer',
    IS_NO_ENTRY,
    `UPDATE transfers SET debit_version = 1000 WHERE id = ${A_PURCHASE}`,
  ),
  one('the amount of a price', NEVER_COST, `UPDATE project_prices SET price_per_tonne = 13`),
  one('the currency of a price', NEVER_COST, `UPDATE project_prices SET price_currency = 'KES'`),
  one(
    'the asset of a project',
    IS_NOT_LOGGED,
    `UPDATE projects SET asset_id = asset_id || 'x' WHERE state = 'OPEN'`,
  ),
  one(
    'the note of a retirement',
    IS_NOT_LOGGED,
    `UPDATE retirements SET note = note || 'x' WHERE id = ${RETIRED}`,
  ),
  one(
    'a leaf of a transfer',
    /^transfer \S+ is in the transparency log, and missing in the books/,
    `UPDATE transparency_tiles SET hashes = hashes || sha256('x'), row_ids = row_ids || gen_random_uuid() WHERE log = 'transfers' AND level = 0`,
  ),
  one(
    'the note of a record',
    IS_NO_LEAF,
    `UPDATE retirement_records SET note = note || 'x' WHERE position = 2`,
  ),
  one(
    'a leaf of a record',
    IS_NO_LEAF,
    `UPDATE transparency_tiles SET hashes = set_byte(hashes, 32, 255 - get_byte(hashes, 32)) WHERE log = 'retirements' AND level = 0`,
  ),
  one(
    'the index of the last record of a token',
    /^(token \S+ has \d+ feed records from|record \d+ of token \S+ has none before it)/,
    `UPDATE retirement_records SET index = index + 2 WHERE (token_address, index) =
      (SELECT token_address, max(index) FROM retirement_records WHERE token_address = ${SMALLEST_TOKEN} GROUP BY 1)`,
  ),
  one(
    'the head of the feed',
    /^the feed has (\d+ records|no record) at position/,
    'UPDATE feed_head SET position = position + 1',
  ),
  one(
    'the positions of two records',
    /^record \d+ of token \S+ comes after record \d+ in the feed/,
    `UPDATE retirement_records SET position = 1000 WHERE position = 1; UPDATE retirement_records SET position = 1 WHERE position = 2;
      UPDATE retirement_records SET position = 2 WHERE position = 1000`,
  ),
  one(
    'the note that a record is claimed',
    /^record \d+ of token \S+ is noted as claimed/,
    `UPDATE retirement_records SET is_claimed = true WHERE beneficiary = 'Foreign'`,
  ),
  one(
    'the retirements of a total',
    MISSES,
    'UPDATE retirement_totals SET retirements = retirements + 1 WHERE day IS NULL',
  ),
  one(
    'the amount of a total',
    MISSES,
    'UPDATE retirement_totals SET amount_base_units = amount_base_units + 1 WHERE day IS NOT NULL',
  ),
  one(
    'the session of a payout',
    /^session \S+ of the manual provider is for off-ramp session/,
    `UPDATE manual_ramp_sessions SET reference = gen_random_uuid()::text`,
  ),
  one(
    'the name of a payout',
    /^session \S+ of the manual provider is for off-ramp session/,
    `UPDATE manual_ramp_sessions SET id = id || 'x'`,
  ),
  one(
    'an entry of the audit log, the one before which is gone',
    /^(process \S+ wrote 5 entries of the audit log,|entry \S+ of the audit log is number 4 of process \S+, and there is none before it)/,
    `DELETE FROM audit_entries WHERE number = 3 AND ${OF_THE_FIVE}; UPDATE audit_entries SET number = 4 WHERE number = 4 AND ${OF_THE_FIVE}`,
  ),
];
