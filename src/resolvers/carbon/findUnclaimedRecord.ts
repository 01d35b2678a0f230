/**
 * Finds retirement records by custody that equal given burns and that no retirement of this platform claims: the burn
 * may have landed in a transaction that this database does not know. Burns that are asked about at the same time are
 * looked for together, by token.
 */
import { and, eq, inArray } from 'drizzle-orm';
import { attempts, retirements, submissions } from '../../db/tables/index.ts';
import { countStored, requireInOrder, type FeedToken } from '../../feed/appendRecords.ts';
import { fillToken, type FeedDependencies } from '../../feed/fillToken.ts';
import { findAlikeBurns, findUnclaimedRecords, type Burn } from '../../feed/unclaimedRecords.ts';
import { createBatcher } from '../../lib/batches.ts';
import { groupBy } from '../../lib/groupBy.ts';
import { toWholeUnits } from '../../ledger/units.ts';
import {
  MAX_RECORDS_PER_READ,
  NetworkUnavailable,
  type NetworkCall,
  type Outcome,
} from '../../ledger/network/port.ts';
import { findProjectByToken } from './findProject.ts';

export interface UnclaimedRecord {
  index: number;
  /** By the network's clock, in Unix seconds. */
  timestamp: bigint;
  /** Null where it is not known. */
  txHash: string | null;
}

/**
 * Records of burns like this one that have landed and are not settled yet belong to those.
 * @param submissionId of the burn itself
 * @returns the lowest, or null. @throws NetworkUnavailable also while it may be the record of a burn that is under way
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
const MAX_WAITING = 10_000;
/** Equal burns under way at a time; what is asked about beyond them waits until some are settled. */
const MAX_ALIKE_UNDER_WAY = 2_000;
/** With more records than burns under way, at least one belongs to none of them. */
const MAX_ALIKE_RECORDS = MAX_ALIKE_UNDER_WAY + 1;

export function createUnclaimedSearch(deps: FeedDependencies): FindUnclaimedRecord {
  const batcher = createBatcher<Question, Answer>({
    maxItems: MAX_QUESTIONS,
    maxWaiting: MAX_WAITING,
    run: (questions) => search(deps, questions),
  });
  return async (call, submissionId) => {
    const answer = await batcher.submit({ call, submissionId });
    if ('error' in answer) throw answer.error;
    return answer.found;
  };
}

async function search(deps: FeedDependencies, questions: readonly Question[]): Promise<Answer[]> {
  const answers = new Map<Question, Answer>();
  const byToken = groupBy(questions, ({ call }) => call.tokenAddress);
  await Promise.all(
    [...byToken].map(async ([tokenAddress, ofToken]) => {
      try {
        await searchToken(deps, tokenAddress, ofToken, answers);
      } catch (error) {
        // What can't be told of one token must not hold up the others.
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
  const mayExist = await findCandidates(deps, token, questions);
  if (mayExist.size === 0) return;
  await fillToken(deps, token);
  for (const [key, equal] of alike) {
    const [first] = equal;
    if (!first || !mayExist.has(key)) continue;
    const unclaimed = await findUnclaimed(deps, token, first.call);
    for (const question of equal) answers.set(question, unclaimed(question.submissionId));
  }
}

function keyOf({ beneficiary, note, amount }: Burn): string {
  return JSON.stringify([beneficiary, note, String(amount)]);
}

/**
 * The burns that unclaimed records may equal, of all that the token has. What the feed lacks is looked at in passing, so
 * that it is stored when it is settled, with its transaction.
 */
async function findCandidates(
  deps: FeedDependencies,
  token: FeedToken,
  questions: readonly Question[],
): Promise<ReadonlySet<string>> {
  const { custodyAddress } = deps.network;
  const stored = await countStored(deps.db, token.tokenAddress);
  const page = await deps.network.retirementRecords(token.tokenAddress, stored, MAX_RECORDS_PER_READ);
  requireInOrder(token.tokenAddress, page.records, stored);
  const burns = [...new Map(questions.map(({ call }) => [keyOf(call), call])).values()];
  if (stored + page.records.length < page.totals.totalRetirements) return new Set(burns.map(keyOf));
  const fresh = page.records.filter(({ retiredBy }) => retiredBy === custodyAddress);
  const inFeed = await findAlikeBurns(deps.db, { ...token, custodyAddress, burns });
  return new Set([...fresh, ...inFeed].map(keyOf));
}

/** @returns what each of these equal burns is answered, by its submission */
async function findUnclaimed(
  deps: FeedDependencies,
  token: FeedToken,
  call: RetireCall,
): Promise<(submissionId: string) => Answer> {
  const { custodyAddress } = deps.network;
  const find = () =>
    findUnclaimedRecords(deps.db, { ...token, custodyAddress, burn: call, limit: MAX_ALIKE_RECORDS });
  const before = await find();
  if (before.length === 0) return () => ({ found: null });
  const underWay = await outcomesOfAlike(deps, token.projectId, call);
  // A burn that settled in the meantime was not among the open ones, and has claimed its record.
  const after = new Set((await find()).map(({ index }) => index));
  return (submissionId) => {
    const others = underWay.filter((one) => one.submissionId !== submissionId);
    const claimed = new Set(others.map(({ outcome }) => recordOf(outcome)));
    const left = before.filter(({ index }) => !claimed.has(index));
    if (left.length === 0) return { found: null };
    if (others.some(({ outcome }) => outcome.status === 'pending')) {
      const error = new NetworkUnavailable(
        'An equal burn is under way: which record belongs to which burn is known once it has an outcome.',
      );
      return { error };
    }
    return { found: left.find(({ index }) => after.has(index)) ?? null };
  };
}

function recordOf(outcome: Outcome): number | null {
  if (outcome.status !== 'succeeded' || outcome.result.kind !== 'retired') return null;
  return outcome.result.retirementIndex;
}

/** The network's outcomes of open attempts of equal burns. @throws NetworkUnavailable */
async function outcomesOfAlike(
  deps: FeedDependencies,
  projectId: string,
  call: RetireCall,
): Promise<{ submissionId: string; outcome: Outcome }[]> {
  const open = await deps.db
    .select({ attempt: attempts })
    .from(retirements)
    .innerJoin(submissions, and(eq(submissions.targetId, retirements.id), eq(submissions.kind, 'retire')))
    .innerJoin(attempts, and(eq(attempts.submissionId, submissions.id), eq(attempts.state, 'OPEN')))
    .where(
      and(
        eq(retirements.projectId, projectId),
        inArray(retirements.state, ['PENDING', 'NEEDS_REVIEW']),
        eq(retirements.beneficiary, call.beneficiary),
        eq(retirements.note, call.note),
        eq(retirements.amountTonnes, toWholeUnits(call.amount)),
      ),
    )
    .limit(MAX_ALIKE_UNDER_WAY + 1);
  if (open.length > MAX_ALIKE_UNDER_WAY) {
    throw new NetworkUnavailable(
      `More than ${MAX_ALIKE_UNDER_WAY} equal burns are under way: asked again when some are settled.`,
    );
  }
  return Promise.all(
    open.map(async ({ attempt }) => ({
      submissionId: attempt.submissionId,
      outcome: await deps.network.outcome(attempt),
    })),
  );
}
