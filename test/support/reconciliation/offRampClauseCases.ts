/**
 * States of cash-outs that hold the clauses of their queries (clauseCases.ts).
 */
import { copyOf, FIRST, type ClauseCase } from './clauseCase.ts';

const withOne = (state: string, other: string) =>
  `(SELECT a.id FROM off_ramp_sessions a JOIN off_ramp_sessions b ON b.receipt_id = a.receipt_id
    WHERE a.state = '${state}' AND b.state = '${other}' ORDER BY a.id LIMIT 1)`;
const WAITING = withOne('AWAITING_PAYOUT', 'CLOSED');
const SETTLED = withOne('SETTLED', 'REFUNDED');
const REFUNDED = FIRST('off_ramp_sessions', `state = 'REFUNDED'`);
/** A session of the receipt of the one that waits; the settled one is of another receipt. */
const BESIDE = `(SELECT id FROM off_ramp_sessions WHERE state = 'CLOSED'
  AND receipt_id = (SELECT receipt_id FROM off_ramp_sessions WHERE id = ${WAITING}) ORDER BY id LIMIT 1)`;

const call = (target: string, kind: string, state: string, more = '') =>
  copyOf(
    'submissions',
    `kind = 'depositOffRamp'`,
    `'id', gen_random_uuid(), 'kind', '${kind}', 'target_id', ${target}, 'state', '${state}'${more}`,
  );
const review = (session: string, decision: string, seen: string, closedAt = 'now()') =>
  copyOf(
    'off_ramp_reviews',
    'true',
    `'id', gen_random_uuid(), 'off_ramp_session_id', ${session}, 'decision', ${decision}, 'closed_at', ${closedAt}, 'statuses_seen', ${seen}`,
  );
const set = (session: string, columns: string) =>
  `UPDATE off_ramp_sessions SET ${columns} WHERE id = ${session}`;
const SEEN = `(SELECT count(*) FROM off_ramp_provider_statuses WHERE off_ramp_session_id = ${SETTLED})`;
const PROVIDER_DISAGREES = /^off-ramp session \S+ is \w+ while its provider says/;
const SETTLED_AND_FAILED = set(SETTLED, `provider_status = 'failed'`);

/** The provider says otherwise than the state, and who decided so. */
const DISAGREEMENTS: readonly ClauseCase[] = [
  ...(
    [
      ['SETTLED', 'failed'],
      ['SETTLED', 'refunded'],
      ['REFUNDED', 'settled'],
      ['CLOSED', 'settled'],
    ] as const
  ).map(([state, status]): ClauseCase => ({
    name: `a session is ${state}, and ${status} by its provider`,
    says: PROVIDER_DISAGREES,
    sql: set(FIRST('off_ramp_sessions', `state = '${state}'`), `provider_status = '${status}'`),
  })),
  {
    name: 'an operator decided against the last status of the provider',
    saysNot: PROVIDER_DISAGREES,
    sql: `${SETTLED_AND_FAILED}; ${review(SETTLED, `'ACCEPT'`, SEEN)}`,
  },
  ...(
    [
      [
        'an operator decided before the last status of the provider',
        review(SETTLED, `'ACCEPT'`, `${SEEN} - 1`),
      ],
      ['a review was closed without a decision', review(SETTLED, 'NULL', SEEN)],
      ['an operator decided about another session', review(REFUNDED, `'ACCEPT'`, SEEN)],
    ] as const
  ).map(([name, sql]): ClauseCase => ({
    name,
    says: PROVIDER_DISAGREES,
    sql: `${SETTLED_AND_FAILED}; ${sql}`,
  })),
];

const DECIDED_OTHERWISE = /^off-ramp session \S+ is \w+ after it was decided to/;
const REFUND_DECIDED = set(SETTLED, `resolution = 'REFUND'`);

const DECISIONS: readonly ClauseCase[] = [
  { name: 'a session is settled that was to be refunded', says: DECIDED_OTHERWISE, sql: REFUND_DECIDED },
  {
    name: 'a session is refunded that was to be settled',
    says: DECIDED_OTHERWISE,
    sql: set(REFUNDED, `resolution = 'SETTLE'`),
  },
  {
    name: 'an operator accepted the end of a session',
    saysNot: DECIDED_OTHERWISE,
    sql: `${REFUND_DECIDED}; ${review(SETTLED, `'ACCEPT'`, '0')}`,
  },
  ...(
    [
      ['an operator accepted the end of another session', review(REFUNDED, `'ACCEPT'`, '0')],
      ['an operator tried a session again', review(SETTLED, `'RETRY'`, '0')],
      [
        'an operator accepted a session before its tokens were released',
        review(
          SETTLED,
          `'ACCEPT'`,
          '0',
          `(SELECT released_at FROM off_ramp_sessions WHERE id = ${SETTLED}) - interval '1 second'`,
        ),
      ],
    ] as const
  ).map(([name, sql]): ClauseCase => ({
    name,
    says: DECIDED_OTHERWISE,
    sql: `${REFUND_DECIDED}; ${sql}`,
  })),
  {
    name: 'a session needs a review that is not open',
    says: /^off-ramp session \S+ is NEEDS_REVIEW, which does not fit its open reviews/,
    sql: set(WAITING, `state = 'NEEDS_REVIEW'`),
  },
  {
    name: 'a session has an open review, and goes on',
    says: /^off-ramp session \S+ is AWAITING_PAYOUT, which does not fit its open reviews/,
    sql: copyOf(
      'off_ramp_reviews',
      'true',
      `'id', gen_random_uuid(), 'off_ramp_session_id', ${WAITING}, 'closed_at', NULL`,
    ),
  },
  {
    name: 'one session of many needs a review, which is open',
    saysNot: /which does not fit its open reviews/,
    sql: `${copyOf('off_ramp_reviews', 'true', `'id', gen_random_uuid(), 'off_ramp_session_id', ${WAITING}, 'closed_at', NULL`)};
      ${set(WAITING, `state = 'NEEDS_REVIEW'`)}`,
  },
  {
    name: 'a session is confirmed and refunded',
    says: /^off-ramp session \S+ was both confirmed and refunded/,
    sql: call(SETTLED, 'refundOffRamp', 'SUCCEEDED'),
  },
];

const HAS_NO_CALL = /^off-ramp session \S+ is \w+ without a submission \w+ that says so/;
const IS_DEPOSITING = set(WAITING, `state = 'DEPOSITING', deposited_at = NULL`);
const depositing = (name: string, sql: string): ClauseCase => ({
  name: `a session is to be deposited, with ${name}`,
  says: HAS_NO_CALL,
  sql: `${sql}; ${IS_DEPOSITING}`,
});
const mayDeposit = (name: string, sql: string): ClauseCase => ({
  name: `a session is to be deposited, with ${name}`,
  saysNot: HAS_NO_CALL,
  sql: `${sql}; ${IS_DEPOSITING}`,
});

const DEPOSITS: readonly ClauseCase[] = [
  mayDeposit('its deposit under way', call(WAITING, 'depositOffRamp', 'PENDING')),
  mayDeposit('its allowance under way', call(WAITING, 'setAllowance', 'PENDING')),
  mayDeposit('the deposit of another session before it', call(BESIDE, 'depositOffRamp', 'PENDING')),
  mayDeposit('the deposit of another session under review', call(BESIDE, 'depositOffRamp', 'NEEDS_REVIEW')),
  mayDeposit('the allowance of another session before it', call(BESIDE, 'setAllowance', 'PENDING')),
  depositing('its deposit under review', call(WAITING, 'depositOffRamp', 'NEEDS_REVIEW')),
  depositing('its allowance set', call(WAITING, 'setAllowance', 'SUCCEEDED')),
  depositing('another call under way', call(WAITING, 'refundOffRamp', 'PENDING')),
  depositing(
    "a holder's deposit before it",
    call(BESIDE, 'depositOffRamp', 'PENDING', `, 'signer', 'HOLDER'`),
  ),
  depositing('another call of another session', call(BESIDE, 'refundOffRamp', 'PENDING')),
  depositing('the deposit of another session done', call(BESIDE, 'depositOffRamp', 'SUCCEEDED')),
  depositing("another receipt's deposit under way", call(SETTLED, 'depositOffRamp', 'PENDING')),
  depositing("another receipt's allowance under way", call(SETTLED, 'setAllowance', 'PENDING')),
  depositing(
    'an allowance of custody, by a holder',
    `${call(WAITING, 'setAllowance', 'PENDING')}; ${set(WAITING, `depositor = 'HOLDER'`)}`,
  ),
  {
    name: 'a session is to be confirmed, with an allowance under way',
    says: HAS_NO_CALL,
    sql: `${call(WAITING, 'setAllowance', 'PENDING')}; ${set(WAITING, `state = 'CONFIRMING', resolution = 'SETTLE'`)}`,
  },
];

const MOVES_OTHERWISE = /^submission \S+ moves otherwise than off-ramp session/;
const ALLOWANCE = `'kind', 'setAllowance', 'call', jsonb_set(call, '{kind}', '"setAllowance"')`;
const allowance = (calls: string) =>
  copyOf(
    'submissions',
    `kind = 'depositOffRamp' AND state = 'SUCCEEDED'`,
    `'id', gen_random_uuid(), ${ALLOWANCE.replace('jsonb_set(call', `jsonb_set(${calls}`)}`,
  );
const IS_OF_RECEIPT = /^off-ramp session \S+ is of receipt/;
const PAID_MORE = /of which custody has settled/;
const OF_ITS_RECEIPT = `id = (SELECT receipt_id FROM off_ramp_sessions WHERE id = ${SETTLED})`;
const IS_ANOTHERS = set(WAITING, `provider_name = 'another'`);

const AMOUNTS: readonly ClauseCase[] = [
  {
    name: 'no row says which address custody has',
    says: IS_OF_RECEIPT,
    sql: 'DELETE FROM installation',
  },
  { name: 'an allowance is of the amount of its session', saysNot: MOVES_OTHERWISE, sql: allowance('call') },
  {
    name: 'an allowance is of another token',
    says: MOVES_OTHERWISE,
    sql: allowance(`jsonb_set(call, '{tokenAddress}', '"another"')`),
  },
  {
    name: 'an allowance is of another amount',
    says: MOVES_OTHERWISE,
    sql: allowance(`jsonb_set(call, '{amount,$integer}', '"1"')`),
  },
  { name: 'an allowance is of no token', says: MOVES_OTHERWISE, sql: allowance(`call - 'tokenAddress'`) },
  {
    name: 'a confirmation names no session',
    says: MOVES_OTHERWISE,
    sql: `UPDATE submissions SET call = call - 'sessionId' WHERE kind = 'confirmOffRampSettlement'`,
  },
  {
    name: 'the kilograms of a receipt are settled once, and were refunded before',
    saysNot: PAID_MORE,
    sql: `UPDATE receipts SET quantity_kg = (SELECT token_amount_kg FROM off_ramp_sessions WHERE id = ${SETTLED}) WHERE ${OF_ITS_RECEIPT}`,
  },
  {
    name: 'a holder cashes out kilograms again',
    saysNot: PAID_MORE,
    sql: `${set(SETTLED, `depositor = 'HOLDER'`)}; UPDATE receipts SET quantity_kg = 1 WHERE ${OF_ITS_RECEIPT}`,
  },
  {
    name: 'a session is of a receipt that is missing',
    says: IS_OF_RECEIPT,
    sql: set(WAITING, 'receipt_id = gen_random_uuid()'),
  },
  {
    name: 'a holder deposits from another account than custody',
    saysNot: IS_OF_RECEIPT,
    sql: set(WAITING, `depositor = 'HOLDER', depositor_address = 'holder'`),
  },
  {
    name: 'a status of the provider is seen twice in a row',
    says: /^off-ramp session \S+ has provider status \w+ twice in a row, at number \d+$/,
    sql: `INSERT INTO off_ramp_provider_statuses SELECT off_ramp_session_id, number + 1, status, observed_at
      FROM off_ramp_provider_statuses h WHERE off_ramp_session_id = ${SETTLED}
        AND number = (SELECT max(number) FROM off_ramp_provider_statuses WHERE off_ramp_session_id = h.off_ramp_session_id)`,
  },
  {
    name: "another provider's session is known to the manual one",
    says: /^session \S+ of the manual provider is for off-ramp session/,
    sql: IS_ANOTHERS,
  },
  {
    name: 'a session of the manual provider is not named yet',
    saysNot: /^session \S+ of the manual provider/,
    sql: set(WAITING, 'provider_session_id = NULL'),
  },
  {
    name: 'another provider has another quote',
    saysNot: /which is not what its rate gives/,
    sql: set(WAITING, `provider_name = 'another', fiat_fee = fiat_fee + 1`),
  },
];

export const OFF_RAMP_CASES = [...DISAGREEMENTS, ...DECISIONS, ...DEPOSITS, ...AMOUNTS];
