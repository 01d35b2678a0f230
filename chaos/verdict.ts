/**
 * What must hold after the platform was left alone: nothing is stuck, every answered success is there, each
 * retirement was burned once, each follower saw each record once and in order, provider and network agree
 * about each payout, and `reconcile` holds.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Follower } from './followers.ts';
import type { Lab } from './lab.ts';
import { FIELDS, person, type Fact } from './known.ts';
import type { Load } from './load.ts';
import { findBrokenPromises } from './promises.ts';

/** Work must be final, or flagged for an operator, within this time after the last fault. */
const REST_WITHIN_MS = 5 * 60_000;
/** A server asks each 30 s whether the network and the books prove that a halt of signing can end. */
const HALT_ENDS_WITHIN_MS = 90_000;
const POLL_MS = 250;
/** Feed and logs are some moments behind their sources. */
const CATCH_UP_WITHIN_MS = 60_000;
/** Sessions that wait until an operator decides an earlier deposit, or allowance, of their receipt. */
const HELD_UP = `state = 'DEPOSITING' AND receipt_id IN (
  SELECT o.receipt_id FROM submissions s JOIN off_ramp_sessions o ON o.id = s.target_id
  WHERE s.state = 'NEEDS_REVIEW' AND s.kind IN ('setAllowance', 'depositOffRamp'))`;
/** Ids, addresses and numbers differ between two flags of one reason. */
const REASONS = `
  SELECT regexp_replace(reason, '[[:alnum:]-]*[0-9][[:alnum:]-]*', '…', 'g') AS reason, count(*)::int FROM (
    SELECT kind || ': ' || coalesce(state_reason, review_cause::text) AS reason FROM submissions WHERE state = 'NEEDS_REVIEW'
    UNION ALL
    SELECT 'session: ' || flagged_because FROM off_ramp_reviews WHERE closed_at IS NULL) AS flags
  GROUP BY 1`;

export interface Rest {
  /** Null when the platform did not come to rest in time. */
  afterMs: number | null;
  stuck: Record<string, number>;
  flagged: Record<string, number>;
  /** How often each reason of a flag was given, without the ids and numbers in it. */
  reasons: Record<string, number>;
}

/** @param sinceMs when the last fault ended */
export async function comeToRest(lab: Lab, sinceMs: number): Promise<Rest> {
  const sql = lab.sql();
  const countBy = async (where: string) => {
    const rows = await sql.unsafe<{ what: string; count: number }[]>(`
      SELECT 'submission ' || kind || ' ' || state AS what, count(*)::int FROM submissions
        WHERE state ${where} GROUP BY 1
      UNION ALL
      SELECT 'off-ramp session ' || state, count(*)::int FROM off_ramp_sessions WHERE state ${where} AND NOT (${HELD_UP}) GROUP BY 1
      UNION ALL
      SELECT 'retirement ' || state, count(*)::int FROM retirements WHERE state ${where} GROUP BY 1`);
    return Object.fromEntries(rows.map(({ what, count }) => [what, count]));
  };
  const settled = async (afterMs: number | null, stuck: Record<string, number>): Promise<Rest> => {
    const rows = await sql.unsafe<{ reason: string; count: number }[]>(REASONS);
    const reasons = Object.fromEntries(rows.map(({ reason, count }) => [reason, count]));
    return { afterMs, stuck, flagged: await countBy(`::text = 'NEEDS_REVIEW'`), reasons };
  };
  try {
    for (;;) {
      // Before the work is counted: between the two, the work that a halt held up may have gone on.
      const isWaiting = await isHeldUpByHalt(sql);
      const stuck = await countBy(
        `::text NOT IN ('SUCCEEDED', 'REFUSED', 'SETTLED', 'REFUNDED', 'CLOSED', 'RETIRED', 'NEEDS_REVIEW')`,
      );
      const afterMs = Date.now() - sinceMs;
      if (Object.keys(stuck).length === 0 && (afterMs > HALT_ENDS_WITHIN_MS || !isWaiting))
        return await settled(afterMs, stuck);
      if (afterMs > REST_WITHIN_MS) return await settled(null, stuck);
      await delay(POLL_MS);
    }
  } finally {
    await sql.end();
  }
}

/** What went to review for the halt alone goes on after its end, while the account's review is due. */
async function isHeldUpByHalt(sql: ReturnType<Lab['sql']>): Promise<boolean> {
  const rows = await sql`SELECT FROM signing_accounts
    WHERE halted_because IS NOT NULL OR review_due_at IS NOT NULL LIMIT 1`;
  return rows.length > 0;
}

/** @returns the violations, for readers; none when everything holds */
export async function findViolations(
  load: Load,
  followers: readonly Follower[],
  rest: Rest,
): Promise<string[]> {
  const stuck = Object.entries(rest.stuck).map(
    ([what, count]) => `stuck for five minutes: ${count} × ${what}`,
  );
  const records = await readRecords(load);
  return [
    ...stuck,
    ...(await findLostFacts(load, records)),
    ...(await findBrokenPromises(load)),
    ...(await findFeedGaps(followers, records)),
    ...(await findReconcileFindings(load.lab)),
  ];
}

interface Recorded {
  beneficiary: string;
  index: number;
  note: string;
}

/** The totals of each token, from the network. */
async function readRecords({ api, facts }: Load): Promise<Map<string, Recorded[]>> {
  const tokens = new Set(
    facts.flatMap((fact) =>
      fact.kind === 'Project' && fact.tokenAddress != null ? [fact.tokenAddress] : [],
    ),
  );
  const records = new Map<string, Recorded[]>();
  for (const tokenAddress of tokens) {
    const reply = await api.untilAnswered<{ registry: { records: Recorded[] } }>(
      'query ($tokenAddress: Address!) { registry(tokenAddress: $tokenAddress) { records { beneficiary index note } } }',
      { tokenAddress },
      null,
    );
    records.set(tokenAddress, reply && 'data' in reply ? reply.data.registry.records : []);
  }
  return records;
}

interface Subject {
  state?: string;
  tonnes?: string;
  tokenAddress?: string | null;
  sessionId?: string | null;
}

/** States that last in a run, without those that an operator must decide: no deposit of custody is late. */
const STAYING = [
  'OPEN',
  'ACTIVE',
  'RETIRED',
  'SETTLED',
  'REFUNDED',
  'CLOSED',
  'REFUSED',
  'APPROVED',
  'WITHDRAWN',
  'LANDED',
];

async function findLostFacts(
  { lab, api, facts }: Load,
  records: ReadonlyMap<string, readonly Recorded[]>,
): Promise<string[]> {
  const burns = new Map<string, number>();
  for (const { note } of [...records.values()].flat()) burns.set(note, (burns.get(note) ?? 0) + 1);
  const violations = [...burns].flatMap(([note, count]) =>
    count > 1 ? [`"${note}" was burned ${count} times`] : [],
  );
  for (const fact of facts) {
    // A removed cap is not found; promises.ts reads the caps.
    if (fact.kind === 'IssuanceCap') continue;
    const reply = await api.untilAnswered<{ node: Subject | null }>(
      `query ($id: ID!) { node(id: $id) { ... on ${fact.kind} { id ${FIELDS[fact.kind]} } } }`,
      { id: fact.id },
      fact.kind === 'Receipt' ? person('operator') : fact.caller,
    );
    const subject = reply && 'data' in reply ? reply.data.node : null;
    const told = JSON.stringify(fact);
    if (subject === null) violations.push(`lost: ${told}`);
    else violations.push(...contradictions(lab, fact, subject, burns).map((what) => `${what}: ${told}`));
  }
  return violations;
}

function contradictions(
  lab: Lab,
  fact: Fact,
  subject: Subject,
  burns: ReadonlyMap<string, number>,
): string[] {
  const found: string[] = [];
  const { state } = subject;
  if (fact.tonnes !== subject.tonnes) found.push(`is of ${subject.tonnes} tonnes`);
  if (fact.tokenAddress != null && fact.tokenAddress !== subject.tokenAddress) {
    found.push(`has the token ${subject.tokenAddress}`);
  }
  // The load moves the clock of the embedded network beyond the expiry of receipts.
  const isLater = state === 'NEEDS_REVIEW' || (fact.state === 'ACTIVE' && state === 'EXPIRED');
  if (fact.state !== undefined && STAYING.includes(fact.state) && state !== fact.state && !isLater) {
    found.push(`was answered as ${fact.state}, is ${state}`);
  }
  if (fact.kind === 'Retirement') {
    const count = burns.get(fact.note ?? '') ?? 0;
    if (state === 'RETIRED' && count !== 1) found.push(`is RETIRED, burned ${count} times`);
    if (state === 'REFUSED' && count !== 0) found.push(`is REFUSED, burned ${count} times`);
  }
  // At rest DEPOSITING is held up: an operator's decision comes first.
  if (fact.kind === 'OffRampSession' && state !== 'NEEDS_REVIEW' && state !== 'DEPOSITING') {
    const paid = lab.ramp.payouts.get(subject.sessionId ?? '')?.status;
    if ((paid === 'settled') !== (state === 'SETTLED')) found.push(`is ${state}, the provider says ${paid}`);
  }
  return found;
}

/** Gives the followers time to catch up, because they may be reconnecting. */
async function findFeedGaps(
  followers: readonly Follower[],
  records: ReadonlyMap<string, readonly Recorded[]>,
): Promise<string[]> {
  const giveUpAt = Date.now() + CATCH_UP_WITHIN_MS;
  for (;;) {
    const gaps = followers.flatMap((follower, i) =>
      gapsOf(follower, records).map((gap) => `follower ${i + 1}: ${gap}`),
    );
    if (gaps.length === 0 || Date.now() > giveUpAt) return gaps;
    await delay(POLL_MS);
  }
}

function gapsOf(
  { seen, beneficiary }: Follower,
  records: ReadonlyMap<string, readonly Recorded[]>,
): string[] {
  const gaps: string[] = [];
  for (const [tokenAddress, all] of records) {
    const indexes = seen.filter((record) => record.tokenAddress === tokenAddress).map(({ index }) => index);
    const own = all.filter((record) => beneficiary === null || record.beneficiary === beneficiary);
    const isInOrder = indexes.every((index, place) => index === own[place]?.index);
    if (!isInOrder || indexes.length !== own.length) {
      gaps.push(`of the ${own.length} records of ${tokenAddress}, saw ${indexes.join(' ')}`);
    }
  }
  return gaps;
}

const NOT_PROVED = 2;

async function findReconcileFindings(lab: Lab): Promise<string[]> {
  const giveUpAt = Date.now() + CATCH_UP_WITHIN_MS;
  for (;;) {
    const { exitCode, output } = await lab.reconcile();
    if (exitCode === 0) return [];
    // The transparency logs have everything a moment later; what stays unproved is a violation as well.
    if (exitCode === NOT_PROVED && Date.now() < giveUpAt) {
      await delay(POLL_MS);
      continue;
    }
    return [`reconcile ended with ${exitCode}:\n${output}`];
  }
}
