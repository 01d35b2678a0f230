/**
 * States of rich histories (richHistory.ts) that hold the clauses of the contradictions' queries: each is made
 * without the database's rules, and one sentence is said about it, or is not, because the state is allowed.
 */
import { CHANGED_CASES } from './changedClauseCases.ts';
import { FEED_CASES, HOLDER_CASES } from './feedClauseCases.ts';
import { KEY_CASES, LOG_CASES } from './historyClauseCases.ts';
import { OFF_RAMP_CASES } from './offRampClauseCases.ts';
import { accountOf, copyOf, FIRST, OTHER_PROJECT, RETIRED, type ClauseCase } from './clauseCase.ts';

const A_PURCHASE = FIRST('transfers', `kind = 'purchase'`);
/** An attempt of a retirement that landed, in addition to the one that did. */
const ANOTHER_ATTEMPT = (set: string) =>
  copyOf('attempts', `submission_id = (SELECT id FROM submissions WHERE target_id = ${RETIRED})`, set);
const REPLACING = (set: string) =>
  ANOTHER_ATTEMPT(
    `'hash', 'replacing', 'number', 2, 'state', 'DEAD', 'ledger', NULL, 'replaces', hash${set}`,
  );
const IS_DEPLOYED_OTHERWISE = /^submission \S+ deploys otherwise than (project|receipt) /;
const HAS_OTHER_CALLS = /^(project|receipt) \S+ is \w+, and its calls are /;

const BOOKS: readonly ClauseCase[] = [
  {
    name: 'an account has credits without an entry',
    says: /^account \S+ has a balance of 5 at version 0/,
    sql: `INSERT INTO accounts (id, project_id, kind, owner_id, balance_tonnes, version)
      SELECT 1000000, project_id, 'buyer', 'rich', 5, 0 FROM accounts WHERE id = ${accountOf('acme')}`,
  },
  {
    name: 'an open project has no issue',
    says: /^project \S+ \(OPEN\) of \d+ t is booked as issue\s+of\s+t$/,
    sql: `DELETE FROM transfers WHERE id = ${FIRST('transfers', `kind = 'issue'`)}`,
    inFullAlone: true,
  },
  {
    name: 'a project is issued that is not open',
    says: /^project \S+ \(missing\) of\s+t is booked as issue/,
    sql: `UPDATE projects SET state = 'MINTING' WHERE id = ${FIRST('projects', `state = 'OPEN'`)}`,
  },
  {
    name: 'a project is issued for more',
    says: /^project \S+ \(OPEN\) of \d+ t is booked as issue/,
    sql: `UPDATE transfers SET amount_tonnes = amount_tonnes + 1 WHERE kind = 'issue'`,
  },
  {
    name: 'an issue is of another project than it says',
    says: /^project \S+ \(OPEN\) of \d+ t is booked as issue/,
    sql: `UPDATE transfers t SET project_id = ${OTHER_PROJECT('t.project_id')} WHERE kind = 'issue'`,
  },
  {
    name: 'the account of a buyer is gone',
    says: [
      /^purchase \S+ of .* is not what was asked for/,
      /^retirement \S+ of .* has a retirement_hold of/,
      /^transfer \S+ is not in the transparency log/,
    ],
    sql: `DELETE FROM accounts WHERE id = ${accountOf('acme')}`,
    inFullAlone: true,
  },
  {
    name: 'the accounts of a credit transfer are gone',
    says: /^credit transfer \S+ of .* is not what was asked for/,
    sql: `DELETE FROM accounts WHERE kind = 'buyer'`,
    inFullAlone: true,
  },
  {
    name: 'the projects of purchases and credit transfers are gone',
    says: [/^purchase \S+ of .* is not what was asked/, /^credit transfer \S+ of .* is not what was asked/],
    sql: `DELETE FROM projects`,
    inFullAlone: true,
  },
  {
    name: 'a purchase has the key of a credit transfer',
    says: /^purchase made \S+ without an idempotency key/,
    sql: `UPDATE idempotency_keys SET operation = 'transferCredits' WHERE target_id = ${A_PURCHASE}`,
  },
  {
    name: 'a settlement is of another amount',
    says: /^retirement \S+ of .* has a retirement_settle of/,
    sql: `UPDATE transfers SET amount_tonnes = amount_tonnes + 1 WHERE kind = 'retirement_settle'`,
  },
  {
    name: 'a retirement with a hold is gone',
    says: [/^retirement .* has a retirement_hold of/, /^retirement .* has a retirement_settle of/],
    sql: `DELETE FROM retirements WHERE id = ${RETIRED}`,
    inFullAlone: true,
  },
  {
    name: 'prices begin with number 0',
    says: /^project \S+ has 2 prices, the last of which is number 2/,
    sql: `UPDATE project_prices SET number = 0;
      ${copyOf('project_prices', 'number = 0', `'id', gen_random_uuid(), 'number', 2`)}`,
  },
  {
    name: 'the developer set the first price with the project, under the key of the project',
    saysNot: /^the first price of project|without an idempotency key/,
    sql: `INSERT INTO project_prices (id, project_id, number, price_per_tonne, price_currency, set_by, created_at)
      SELECT id, id, 1, 10, 'EUR', developer_id, created_at FROM projects p
      WHERE NOT EXISTS (SELECT 1 FROM project_prices WHERE project_id = p.id) LIMIT 1`,
  },
];

const RETIREMENTS: readonly ClauseCase[] = [
  ...(['RETIRED', 'REFUSED'] as const).map((state): ClauseCase => ({
    name: `a retirement is ${state} that only held`,
    says: new RegExp(`^retirement \\S+ is ${state} with transfers \\{retirement_hold\\}`),
    sql: `DELETE FROM transfers WHERE kind IN ('retirement_settle', 'retirement_return')
      AND cause_id = ${FIRST('retirements', `state = '${state}'`)}`,
    inFullAlone: true,
  })),
  {
    name: 'a retirement has no transfers',
    says: /^retirement \S+ is PENDING with transfers \{NULL\}/,
    sql: `DELETE FROM transfers WHERE cause_id = ${FIRST('retirements', `state = 'PENDING'`)}`,
    inFullAlone: true,
  },
  {
    name: 'the burn of a retirement became another call',
    says: /^retirement \S+ is RETIRED, its submission missing/,
    sql: `UPDATE submissions SET kind = 'mint', call = jsonb_set(call, '{kind}', '"mint"') WHERE target_id = ${RETIRED}`,
  },
  {
    name: 'an asset has two live projects',
    says: /^asset \S+ has 2 live projects/,
    sql: copyOf('projects', `state = 'OPEN'`, `'id', gen_random_uuid()`),
  },
  {
    name: 'an asset has a live project and a refused one',
    saysNot: /^asset /,
    sql: copyOf('projects', `state = 'OPEN'`, `'id', gen_random_uuid(), 'state', 'REFUSED'`),
  },
];

const SUBMISSIONS: readonly ClauseCase[] = [
  {
    name: 'two attempts of a submission landed',
    says: /^submission \S+ has 2 landed attempts/,
    sql: ANOTHER_ATTEMPT(`'hash', 'another', 'number', 2`),
  },
  {
    name: 'an attempt is dead beside the one that landed',
    saysNot: /landed attempts|its landed attempt is|its attempt in|attempts, the last/,
    sql: ANOTHER_ATTEMPT(`'hash', 'another', 'number', 2, 'state', 'DEAD', 'ledger', NULL`),
  },
  {
    name: 'an operator adopted an outcome that no attempt has',
    saysNot: /its landed attempt is/,
    sql: `UPDATE submissions SET adopted_outcome = 'seen' WHERE target_id = ${RETIRED};
      UPDATE attempts SET state = 'DEAD', ledger = NULL WHERE submission_id = (SELECT id FROM submissions WHERE target_id = ${RETIRED})`,
  },
  {
    name: 'a submission succeeded while its attempt is open',
    says: /^submission \S+ is SUCCEEDED while attempt \S+ is OPEN/,
    sql: `UPDATE attempts SET state = 'OPEN' WHERE submission_id = (SELECT id FROM submissions WHERE target_id = ${RETIRED})`,
  },
  {
    name: 'two attempts have one number, and none the first',
    says: /^submission \S+ has 2 attempts, the last of which is number 2/,
    sql: `UPDATE attempts SET number = 2 WHERE submission_id = (SELECT id FROM submissions WHERE target_id = ${RETIRED});
      ${ANOTHER_ATTEMPT(`'hash', 'another'`)}`,
  },
  { name: 'an attempt replaces another in its slot', saysNot: / replaces /, sql: REPLACING('') },
  ...(
    [
      ['another submission', `'submission_id', gen_random_uuid()`],
      ['another account', `'source', 'another'`],
      ['another sequence', `'sequence', coalesce(sequence, 0) + 1`],
    ] as const
  ).map(([what, set]): ClauseCase => ({
    name: `an attempt replaces one of ${what}`,
    says: /^attempt replacing replaces \S+, which has another account, sequence or submission/,
    sql: REPLACING(`, ${set}`),
  })),
  {
    name: 'a call does not say what it is',
    says: /^submission \S+ is to retire, its call is to\s*$/,
    sql: `UPDATE submissions SET call = call - 'kind' WHERE target_id = ${RETIRED}`,
  },
  {
    name: 'a retirement burns a token of no project',
    says: /^submission \S+ burns otherwise than retirement/,
    sql: `DELETE FROM projects WHERE id = (SELECT project_id FROM retirements WHERE id = ${RETIRED})`,
    inFullAlone: true,
  },
  {
    name: 'a deploy has no salt',
    says: IS_DEPLOYED_OTHERWISE,
    sql: `UPDATE submissions SET call = call - 'salt' WHERE kind = 'deployCarbonCredit'`,
  },
  {
    name: 'a deploy made another contract',
    says: IS_DEPLOYED_OTHERWISE,
    sql: `UPDATE submissions SET result = '{"contractAddress": "another"}' WHERE kind = 'deployCarbonCredit'`,
  },
  {
    name: 'a deploy made a contract that its project does not name',
    says: [IS_DEPLOYED_OTHERWISE, HAS_OTHER_CALLS],
    sql: `UPDATE projects SET token_address = NULL, state = 'DEPLOYING' WHERE state = 'OPEN'`,
  },
  {
    name: 'a project is deployed, and not minted yet',
    saysNot: HAS_OTHER_CALLS,
    sql: `UPDATE projects SET state = 'MINTING' WHERE state = 'OPEN';
      UPDATE submissions SET state = 'PENDING' WHERE kind = 'mint' AND target_type = 'PROJECT'`,
  },
  {
    name: 'a minted project is minted again',
    says: HAS_OTHER_CALLS,
    sql: copyOf(
      'submissions',
      `kind = 'mint' AND target_type = 'PROJECT'`,
      `'id', gen_random_uuid(), 'state', 'PENDING'`,
    ),
  },
  {
    name: 'a project that is not minted yet is minted twice',
    says: HAS_OTHER_CALLS,
    sql: `UPDATE projects SET state = 'MINTING' WHERE state = 'OPEN';
      UPDATE submissions SET state = 'PENDING' WHERE kind = 'mint' AND target_type = 'PROJECT';
      ${copyOf('submissions', `kind = 'mint' AND target_type = 'PROJECT'`, `'id', gen_random_uuid()`)}`,
  },
  {
    name: 'calls were refused before those that succeeded',
    saysNot: /deploys otherwise|deploys the settlement|its calls are|expired in transaction/,
    sql: `INSERT INTO submissions SELECT (jsonb_populate_record(s, jsonb_build_object('id', gen_random_uuid(),
        'state', 'REFUSED', 'tx_hash', NULL, 'result', NULL))).* FROM submissions s
      WHERE kind IN ('deployCarbonCredit', 'deployCommodityReceipt', 'deployRampSettlement', 'markExpired')`,
  },
  {
    name: 'a deploy of the settlement contract has no salt',
    says: /^submission \S+ deploys the settlement contract otherwise/,
    sql: `UPDATE submissions SET call = call - 'salt' WHERE kind = 'deployRampSettlement'`,
  },
  {
    name: 'an expiry names no token',
    says: /^markExpired \S+ is to be sent to /,
    sql: `UPDATE submissions SET call = call - 'tokenAddress' WHERE kind = 'markExpired'`,
  },
];

/** By the subject of their queries' files. */
export const CLAUSE_CASES: Readonly<Record<string, readonly ClauseCase[]>> = {
  books: BOOKS,
  retirements: RETIREMENTS,
  submissions: SUBMISSIONS,
  holders: HOLDER_CASES,
  feed: FEED_CASES,
  'cash-outs': OFF_RAMP_CASES,
  keys: KEY_CASES,
  'transparency logs': LOG_CASES,
  'one changed row': CHANGED_CASES,
};
