/**
 * The worker: leases due submissions and steps them until it is stopped. Any number of instances may run one.
 */
import { and, eq, sql } from 'drizzle-orm';
import { backoffMs, createDueWorker, type DueWorker } from '../../db/dueWorker.ts';
import { createLeases, type Leases } from '../../db/leases.ts';
import { attempts, signingAccounts, submissions } from '../../db/tables/index.ts';
import { storableText } from '../network/foreignText.ts';
import { NetworkUnavailable } from '../network/port.ts';
import { MAY_LAND_UNSEEN } from '../network/seenLedgers.ts';
import { createHaltReview } from './haltedSigning.ts';
import type { Submission } from './settle.ts';
import { readSigningState } from './sequenceSlots.ts';
import { step } from './step.ts';
import { createRescheduling, type NextStep } from './rescheduling.ts';
import { createStepStore, type StepStore } from './stepStore.ts';
import { NEW_SUBMISSION, type SubmissionDependencies } from './submission.ts';

/**
 * Bounds of concurrent steps on networks with sequences, where each step asks a node a few questions. Within
 * them, one step runs for each transaction that can be open, so that each is asked about in time; a node
 * answers no more at once.
 */
const FEWEST_CONCURRENT_STEPS = 12;
const MOST_CONCURRENT_STEPS = 64;
/** Without sequences nothing limits the open transactions, and concurrent steps share their batches. */
const MAX_CONCURRENT_UNORDERED_STEPS = 512;
/** Backoff for holder-signed transactions: only the holder can raise the fee, and some never expire. */
const WHILE_HOLDER_PENDING = { firstMs: 250, longestMs: 15 * 60_000, factor: 1.32 };
const AFTER_FAILURE = { firstMs: 250, longestMs: 15_000 };
/**
 * Backoff for custody's transactions. Each wait is a seventh longer, so that landing is noticed within about
 * a seventh of the time that it took, whether ledgers take a second or finality a quarter of an hour.
 */
const WHILE_PENDING = { firstMs: 250, longestMs: 15_000, factor: 1.15 };
/** A row due later is misdated. Twice the longest delay of any row, so that no row is looked at too often. */
const LONGEST_DELAY_SECONDS = (2 * WHILE_HOLDER_PENDING.longestMs) / 1000;
/** A freed slot notifies; this interval covers lost notifications. */
const NO_SLOT_DELAY_MS = 1000;
/** Networks with sequences close a ledger every few seconds, so this adds little delay. */
const POLL_MS = 250;
/**
 * Without sequences a step takes some milliseconds, most of them for its batches, however many steps share
 * them. Due submissions wait for the running steps, so that they share the next batches instead of running
 * their own.
 */
const GATHER_MS = 100;
/** Maximum characters shown of a failure; enough to recognise it. */
const MAX_SHOWN_CHARACTERS = 300;
/**
 * The expiries' share of the free slots while there is other work. A night may leave thousands of expiries,
 * and clients wait for the other work. The share is not zero, so that a platform that is always busy still
 * marks expired receipts.
 */
const SHARE_OF_EXPIRIES = 1 / 4;
/** A submission that keeps making progress gives way to others after this many steps. */
const MAX_STEPS_PER_CLAIM = 3;

export const isPending = sql`${submissions.state} = 'PENDING'`;

export function createSubmissionWorker(deps: SubmissionDependencies): DueWorker {
  const leases = createLeases(deps.db, submissions, {
    isOpen: isPending,
    isMisdated: sql`${submissions.dueAt} > now() + make_interval(secs => ${LONGEST_DELAY_SECONDS})`,
    // A claim also starts the check of a halt, even while no submission is due.
    alsoDueAt: sql`(SELECT min(${signingAccounts.reviewDueAt}) FROM ${signingAccounts})`,
    onError: (error) => deps.log.error({ err: error }, 'renewing or ending leases of submissions failed'),
  });
  const toSign = countToSign(leases);
  const stepStore = createStepStore(deps);
  const store: StepStore = {
    ...stepStore,
    // Signed, it has its slot: counted on, it would take up a second one while the network is asked about it.
    sign: (request) => stepStore.sign(request).finally(() => toSign.remove(request.intent.submissionId)),
  };
  const reschedule = createRescheduling(deps.db);
  const reviewHalt = createHaltReview(deps);
  return createDueWorker({
    name: 'submissions',
    idField: 'submissionId',
    changeSignal: deps.stateSignal,
    signalKey: NEW_SUBMISSION,
    maxConcurrent: concurrentSteps(deps.network),
    leases,
    claim: claimInOrder(deps, { leases, toSign, reviewHalt }),
    async process(submission) {
      const next = await nextStep(deps, store, submission);
      if (next !== null) await reschedule(submission, next);
    },
    ...(deps.network.signingOrder ? { pollMs: POLL_MS } : { gatherMs: GATHER_MS }),
    log: deps.log,
  });
}

function concurrentSteps({ signingOrder }: SubmissionDependencies['network']): number {
  if (signingOrder === null) return MAX_CONCURRENT_UNORDERED_STEPS;
  const slots = signingOrder.accounts.length * signingOrder.maxOpenPerAccount;
  return Math.min(Math.max(slots, FEWEST_CONCURRENT_STEPS), MOST_CONCURRENT_STEPS);
}

/**
 * Gives each kind of work a share of every claim, so that none blocks the others: holders' transactions,
 * which may stay open for ever; custody's open attempts, which free slots; and in the remaining places, as
 * far as slots are free, unsigned submissions, expiries last.
 */
function claimInOrder(
  deps: SubmissionDependencies,
  {
    leases,
    toSign,
    reviewHalt,
  }: { leases: Leases<Submission>; toSign: ReturnType<typeof countToSign>; reviewHalt: () => Promise<void> },
): (limit: number) => Promise<Submission[]> {
  const { signingOrder } = deps.network;
  if (signingOrder === null) return leases.claim;
  const isByCustody = eq(submissions.signer, 'CUSTODY');
  const isUnderWay = sql`EXISTS (SELECT 1 FROM ${attempts} WHERE ${attempts.submissionId} = ${submissions.id}
    AND ${attempts.state} = 'OPEN')`;
  const claimOfHolders = leases.claimWhere(eq(submissions.signer, 'HOLDER'));
  const claimUnderWay = leases.claimWhere(and(isByCustody, isUnderWay));
  const isUnsigned = and(isByCustody, sql`NOT ${isUnderWay}`);
  const claimExpiries = leases.claimWhere(and(sql`${submissions.kind} = 'markExpired'`, isUnsigned));
  const claimOthers = leases.claimWhere(and(sql`${submissions.kind} <> 'markExpired'`, isUnsigned));
  const noteWait = logWaits(deps);
  const claimTo = async (claimed: Submission[], claim: typeof claimOthers, most: number) => {
    const unsigned = most > 0 ? await claim(most) : [];
    toSign.add(unsigned);
    claimed.push(...unsigned);
    return unsigned.length;
  };
  return async (limit) => {
    const claimed: Submission[] = [];
    try {
      claimed.push(...(await claimOfHolders(Math.ceil(limit / 4))));
      claimed.push(...(await claimUnderWay(Math.ceil(limit / 2))));
      const before = toSign.count();
      const state = await readSigningState(deps.db, signingOrder);
      const { haltedBecause, freeSlots, isReviewDue } = state;
      noteWait(state.mayLandUnseen);
      const isHalted = haltedBecause !== null;
      if (isReviewDue) void reviewHalt();
      // While signing is halted, unsigned submissions go to review, which needs no slot.
      // A submission that is signed, or dies, during the read may be missing in the free slots and one count.
      const awaitingSlots = Math.max(before, toSign.count());
      const fresh = Math.min(limit - claimed.length, isHalted ? limit : freeSlots - awaitingSlots);
      if (fresh > 0) {
        const kept = Math.floor(fresh * SHARE_OF_EXPIRIES + deps.random());
        const others = await claimTo(claimed, claimOthers, fresh - kept);
        const expiries = await claimTo(claimed, claimExpiries, fresh - others);
        // Expiries leave the rest of their share to the others.
        if (others === fresh - kept) await claimTo(claimed, claimOthers, kept - expiries);
      }
    } catch (error) {
      // No step releases these rows: with their leases renewed for ever, no instance would step them.
      for (const { id } of claimed) await leases.release(id);
      throw error;
    }
    return claimed;
  };
}

/** Logs for operators why nothing is signed for some minutes. */
function logWaits({ log }: Pick<SubmissionDependencies, 'log'>): (isWaiting: boolean) => void {
  let wasWaiting = false;
  return (isWaiting) => {
    if (isWaiting && !wasWaiting) {
      log.warn(
        `nothing is signed, since no instance has seen the network for two minutes, or the database is a copy or was promoted: ${MAY_LAND_UNSEEN}`,
      );
    } else if (wasWaiting && !isWaiting) log.info('signing goes on');
    wasWaiting = isWaiting;
  };
}

/**
 * The submissions of this instance that are about to take a slot, which still counts as free. Without this
 * count, more would be claimed than can be signed: each draft too many costs the node a simulation, and is
 * drafted again.
 */
function countToSign(leases: Pick<Leases<Submission>, 'isHeld'>) {
  const ids = new Set<string>();
  return {
    add: (submissions: readonly Submission[]) => submissions.forEach(({ id }) => ids.add(id)),
    remove: (id: string) => void ids.delete(id),
    count() {
      // A submission is released when its step ends, however it ends.
      for (const id of ids) if (!leases.isHeld(id)) ids.delete(id);
      return ids.size;
    },
  };
}

/** Takes up to MAX_STEPS_PER_CLAIM steps. @returns null when the submission is settled */
async function nextStep(
  deps: SubmissionDependencies,
  store: StepStore,
  submission: Submission,
): Promise<NextStep | null> {
  const backoff = submission.signer === 'HOLDER' ? WHILE_HOLDER_PENDING : WHILE_PENDING;
  const { failedSteps, stateReason } = submission;
  let { fruitlessSteps } = submission;
  let notTaken: string | null = null;
  try {
    for (let i = 0; i < MAX_STEPS_PER_CLAIM; i++) {
      const result = await step(deps, store, submission);
      if (result === 'settled') return null;
      if (result === 'waiting') break;
      if (result === 'unsent' || typeof result === 'object') {
        // The node's answer to the last broadcast still holds.
        notTaken = result === 'unsent' ? stateReason : shown(`The node does not take it: ${result.notTaken}`);
        break;
      }
      fruitlessSteps = 0;
      // Nothing was tried, so nothing counts as fruitless. After progress, the old reason is about a dead
      // transaction.
      if (result === 'no-slot') {
        const reason = i === 0 ? stateReason : null;
        return { delayMs: NO_SLOT_DELAY_MS, fruitlessSteps, failedSteps, stateReason: reason };
      }
    }
    const delayMs = backoffMs(fruitlessSteps, backoff, deps.random);
    return { delayMs, fruitlessSteps: fruitlessSteps + 1, failedSteps: 0, stateReason: notTaken };
  } catch (error) {
    // Nothing is known, so nothing changes: the next step asks again.
    deps.log.warn({ submissionId: submission.id, err: error }, 'submission step failed');
    return {
      delayMs: backoffMs(failedSteps, AFTER_FAILURE, deps.random),
      fruitlessSteps,
      failedSteps: failedSteps + 1,
      stateReason: shownFailure(error),
    };
  }
}

/**
 * The text that operators see until a step gets further. They have to fund custody when it is short; other
 * causes pass. Only the first line is shown, because the next lines of a client's error may contain a node's
 * address with its key. Other errors than the network's are not shown, because they may contain an SQL
 * statement with its values.
 */
function shownFailure(error: unknown): string {
  if (!(error instanceof NetworkUnavailable)) return 'The last step failed; the log says why.';
  return shown(error.message);
}

function shown(text: string): string {
  const [line = ''] = text.split('\n', 1);
  return storableText(line.slice(0, MAX_SHOWN_CHARACTERS));
}
