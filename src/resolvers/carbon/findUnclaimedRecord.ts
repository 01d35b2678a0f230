/**
 * Finds retirement records by custody that equal given burns and that no retirement of this platform claims:
 * the burn may have landed in a transaction that this database does not know. Concurrent questions about the
 * same token are answered by one search.
 */
import { and, eq, inArray, isNull } from 'drizzle-orm';
import { attempts, retirements, submissions } from '../../db/tables/index.ts';
import { countStored, requireInOrder, type FeedToken } from '../../feed/appendRecords.ts';
import { fillToken, type FeedDependencies } from '../../feed/fillToken.ts';
import { findAlikeBurns, findClaimed, findUnclaimedRecords, type Burn } from '../../feed/unclaimedRecords.ts';
import { createBatcher } from '../../lib/batches.ts';
import { groupBy } from '../../lib/groupBy.ts';
import { toWholeUnits } from '../../ledger/units.ts';
import {
  MAX_RECORDS_PER_READ,
  NetworkUnavailable,
  type NetworkCall,
  type Outcome,
  type RetirementRecord,
} from '../../ledger/network/port.ts';
import { findProjectByToken } from './findProject.ts';

export interface UnclaimedRecord {
  index: number;
  /** By the network's clock, in Unix seconds. */
  timestamp: bigint;
  /** Null when the hash is not known. */
  txHash: string | null;
}

/**
 * Leaves out records of equal burns that have landed and are not settled yet.
 * @param submissionId of the burn itself
 * @returns the record with the lowest index, or null.
 * @throws NetworkUnavailable also while the record may belong to an equal burn that is under way
 */
type FindUnclaimedRecord = (call: RetireCall, submissionId: string) => Promise<UnclaimedRecord | null>;

type RetireCall = Extract<NetworkCall, { kind: 'retire' }>;

interface Question {
  call: RetireCall;
  submissionId: string;
}

/** A question's answer, or why there is none. */
type Answer = { found: UnclaimedRecord | null } | { error: unknown };

const MAX_QUESTIONS = MAX_RECORDS_PER_READ;
/** Maximum equal burns under way; questions beyond it fail, and are repeated when some are settled. */
const MAX_ALIKE_UNDER_WAY = 2_000;
/** With more records than burns under way, at least one record belongs to none of them. */
const MAX_ALIKE_RECORDS = MAX_ALIKE_UNDER_WAY + 1;
/** Maximum pages of a read: more records than land while burns are settled. */
const MAX_PAGES = 10;
/** A long history is stored once; records that land meanwhile fit the pages of the next round. */
const MAX_ROUNDS = 3;

export function createUnclaimedSearch(deps: FeedDependencies): FindUnclaimedRecord {
  const batcher = createBatcher<Question, Answer>({
    maxItems: MAX_QUESTIONS,
    run: (questions) => searchAll(deps, questions),
  });
  return async (call, submissionId) => {
    const answer = await batcher.submit({ call, submissionId });
    if ('error' in answer) throw answer.error;
    return answer.found;
  };
}

async function searchAll(deps: FeedDependencies, questions: readonly Question[]): Promise<Answer[]> {
  const answers = new Map<Question, Answer>();
  const byToken = groupBy(questions, ({ call }) => call.tokenAddress);
  await Promise.all(
    [...byToken].map(async ([tokenAddress, ofToken]) => {
      try {
        await searchToken(deps, tokenAddress, ofToken, answers);
      } catch (error) {
        // A token that the network can't answer about must not block the other tokens.
        for (const question of ofToken) answers.set(question, { error });
      }
    }),
  );
  return questions.map((question) => answers.get(question) ?? { found: null });
}

async function searchToken(
  deps: FeedDependencies,
  tokenAddress: string,
  questions: readonly Question[],
  answers: Map<Question, Answer>,
): Promise<void> {
  const project = await findProjectByToken(deps, tokenAddress);
  if (!project) return;
  const token = { projectId: project.id, tokenAddress: project.tokenAddress };
  const alike = groupBy(questions, ({ call }) => keyOf(call));
  const burns = [...alike.values()].flatMap(([first]) => first?.call ?? []);
  const { fresh, inFeed } = await readUnclaimed(deps, token, burns);
  const ofFresh = groupBy(fresh, keyOf);
  const keysInFeed = new Set(inFeed.map(keyOf));
  for (const [key, equal] of alike) {
    const [first] = equal;
    const freshOnes = ofFresh.get(key) ?? [];
    if (!first || (freshOnes.length === 0 && !keysInFeed.has(key))) continue;
    const unclaimed = await findUnclaimed(deps, token, first.call, freshOnes);
    for (const question of equal) answers.set(question, unclaimed(question.submissionId));
  }
}

function keyOf({ beneficiary, note, amount }: Burn): string {
  return JSON.stringify([beneficiary, note, String(amount)]);
}

/**
 * Reads custody's records that the feed lacks, and those burns that equal unclaimed records of the feed.
 *
 * The feed is searched after its records were counted, so each record is in one of both results. All of it is
 * searched each time: a database restored to an older state has lost claims, too.
 */
async function readUnclaimed(
  deps: FeedDependencies,
  token: FeedToken,
  burns: readonly Burn[],
): Promise<{ fresh: RetirementRecord[]; inFeed: Burn[] }> {
  const { custodyAddress } = deps.network;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const stored = await countStored(deps.db, token.tokenAddress);
    const [fresh, inFeed] = await Promise.all([
      readFresh(deps, token, stored),
      findAlikeBurns(deps.db, { ...token, custodyAddress, burns }),
    ]);
    if (fresh !== null) return { fresh, inFeed };
    await fillToken(deps, token);
  }
  throw new NetworkUnavailable(`The records of ${token.tokenAddress} grow faster than they are read.`);
}

/**
 * Reads custody's records without storing them: they are stored when they are settled, with their
 * transactions. Returns null for a long history, which is stored first.
 */
async function readFresh(
  { network }: FeedDependencies,
  { tokenAddress }: FeedToken,
  stored: number,
): Promise<RetirementRecord[] | null> {
  const fresh: RetirementRecord[] = [];
  let from = stored;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page = await network.retirementRecords(tokenAddress, from, MAX_RECORDS_PER_READ);
    requireInOrder(tokenAddress, page.records, from);
    from += page.records.length;
    fresh.push(...page.records.filter(({ retiredBy }) => retiredBy === network.custodyAddress));
    if (from >= page.totals.totalRetirements) return fresh;
  }
  return null;
}

/** @returns the answer for each of these equal burns, by its submission */
async function findUnclaimed(
  deps: FeedDependencies,
  token: FeedToken,
  call: RetireCall,
  fresh: readonly RetirementRecord[],
): Promise<(submissionId: string) => Answer> {
  const { custodyAddress } = deps.network;
  const of = { ...token, custodyAddress, burn: call, limit: MAX_ALIKE_RECORDS };
  const stored = await findUnclaimedRecords(deps.db, of);
  const candidates = new Map<number, UnclaimedRecord>();
  for (const { index, timestamp } of fresh) candidates.set(index, { index, timestamp, txHash: null });
  for (const record of stored) candidates.set(record.index, record);
  if (candidates.size === 0) return () => ({ found: null });
  const underWay = await outcomesOfAlike(deps, token.projectId, call);
  // A burn that settled in the meantime is not among the open ones, but has claimed its record.
  const settled = await findClaimed(deps.db, token, [...candidates.keys()]);
  const before = [...candidates.values()]
    .filter(({ index }) => !settled.has(index))
    .toSorted((a, b) => a.index - b.index);
  return (submissionId) => {
    const others = underWay.filter((one) => one.submissionId !== submissionId);
    const claimed = new Set(others.map(({ outcome }) => recordOf(outcome)));
    const lowest = before.find(({ index }) => !claimed.has(index));
    if (!lowest) return { found: null };
    // If this burn was signed, it or one whose outcome can't be proved may have made the record: an operator
    // decides.
    const isSigned = others.length < underWay.length;
    const mayBeTheirs = ({ outcome: { status } }: UnderWay) =>
      status === 'pending' || (status === 'undeterminable' && !isSigned);
    if (others.some(mayBeTheirs)) {
      const error = new NetworkUnavailable(
        'An equal burn is under way, or under review without an outcome: which record belongs to which burn is known once ' +
          'that is decided.',
      );
      return { error };
    }
    return { found: lowest };
  };
}

function recordOf(outcome: Outcome): number | null {
  if (outcome.status !== 'succeeded' || outcome.result.kind !== 'retired') return null;
  return outcome.result.retirementIndex;
}

interface UnderWay {
  submissionId: string;
  outcome: Outcome;
}

/** Reads the network's outcomes for open attempts of equal burns. @throws NetworkUnavailable */
async function outcomesOfAlike(
  deps: FeedDependencies,
  projectId: string,
  call: RetireCall,
): Promise<UnderWay[]> {
  const { submissionId, hash, source, sequence, validUntil, preparedAtLedger, signedBytes } = attempts;
  const open = await deps.db
    .select({ submissionId, hash, source, sequence, validUntil, preparedAtLedger, signedBytes })
    .from(retirements)
    .innerJoin(submissions, and(eq(submissions.targetId, retirements.id), eq(submissions.kind, 'retire')))
    .innerJoin(attempts, and(eq(attempts.submissionId, submissions.id), eq(attempts.state, 'OPEN')))
    .where(
      and(
        eq(retirements.projectId, projectId),
        // These retirements have no record. With the order below, the condition selects the index of records.
        // On a young table an index of all of the project's retirements looks as cheap, and connections keep
        // their plans.
        isNull(retirements.recordIndex),
        inArray(retirements.state, ['PENDING', 'NEEDS_REVIEW']),
        eq(retirements.beneficiary, call.beneficiary),
        eq(retirements.note, call.note),
        eq(retirements.amountTonnes, toWholeUnits(call.amount)),
      ),
    )
    .orderBy(retirements.recordIndex)
    .limit(MAX_ALIKE_UNDER_WAY + 1);
  if (open.length > MAX_ALIKE_UNDER_WAY) {
    throw new NetworkUnavailable(
      `More than ${MAX_ALIKE_UNDER_WAY} equal burns are under way: asked again when some are settled.`,
    );
  }
  return Promise.all(
    open.map(async ({ submissionId, ...sent }) => ({
      submissionId,
      outcome: await deps.network.outcome(sent),
    })),
  );
}
