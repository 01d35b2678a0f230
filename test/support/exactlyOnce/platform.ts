/**
 * The platform's database in the exactly-once model, in memory. Each function is one transaction. The
 * product's own code decides: the rules under a submission's lock (rules.ts) and the table of a session's
 * states (transitions.ts).
 */
import type { Attempt } from '../../../src/ledger/submission/attempts.ts';
import { encodeExact } from '../../../src/ledger/submission/exactJson.ts';
import { isOutdated, maySign } from '../../../src/ledger/submission/rules.ts';
import type { Submission, Conclusion } from '../../../src/ledger/submission/settle.ts';
import type { NetworkCall, PreparedTransaction } from '../../../src/ledger/network/port.ts';
import type { RampStatus } from '../../../src/ramp/port.ts';
import type { OffRampSession } from '../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import { contradiction, isEnd } from '../../../src/resolvers/warehouse/offRamp/offRampMoves.ts';
import {
  factsOf,
  matchingTransitions,
  type OffRampEvent,
} from '../../../src/resolvers/warehouse/offRamp/transitions.ts';

type SessionFields =
  'state' | 'providerStatus' | 'providerAskedAt' | 'providerSessionId' | 'resolution' | 'depositedAt';
type SimulatedSession = Pick<OffRampSession, SessionFields | 'stateReason' | 'cancelRequestedAt'>;

interface SimulatedRow {
  submission: Submission;
  attempts: Attempt[];
}

export interface SimulatedPlatform {
  submissions: Map<string, SimulatedRow>;
  /** Where the credits of each retirement are. */
  credits: Map<string, 'HELD' | 'BURNED' | 'RETURNED'>;
  sessions: Map<string, SimulatedSession>;
  beginRetirement(): void;
  beginSession(): void;
  openAttempts(submissionId: string): Attempt[];
  sign(submissionId: string, prepared: PreparedTransaction): Attempt[];
  endAttempts(hashes: readonly string[]): void;
  /** @param seen the submission, as read before anything was found */
  settle(seen: Submission, conclusion: Conclusion): boolean;
  /** Works like resumeWithin in review.ts, by an operator who has just read the submission. */
  resume(submissionId: string): void;
  /** Works like recordStatus in offRampMoves.ts. @returns whether the status is new */
  record(sessionId: string, status: RampStatus): boolean;
  apply(sessionId: string, event: OffRampEvent, isUnderWay?: boolean): void;
}

const AT = new Date(0);
const AMOUNT = 1n;

export function createPlatform(): SimulatedPlatform {
  const submissions = new Map<string, SimulatedRow>();
  const credits: SimulatedPlatform['credits'] = new Map();
  const sessions: SimulatedPlatform['sessions'] = new Map();

  const rowOf = (id: string) => found(submissions.get(id), `submission ${id}`);
  const openOf = (id: string) => rowOf(id).attempts.filter(({ state }) => state === 'OPEN');

  function enqueue(targetType: Submission['targetType'], targetId: string, call: NetworkCall): void {
    const id = `submission ${submissions.size}`;
    const submission = {
      id,
      targetType,
      targetId,
      signer: 'CUSTODY',
      kind: call.kind,
      call: encodeExact(call),
      state: 'PENDING',
      attemptsBeforeResume: 0,
      resumptions: 0,
      failedSettlements: 0,
      fruitlessSteps: 0,
      failedSteps: 0,
    } as Partial<Submission> as Submission;
    submissions.set(id, { submission, attempts: [] });
  }

  /** Works like applyEvent.ts, in memory. */
  function apply(sessionId: string, event: OffRampEvent, isUnderWay = false): void {
    const session = found(sessions.get(sessionId), sessionId);
    const [row, another] = matchingTransitions('CUSTODY', session.state, event, factsOf(session, isUnderWay));
    if (!row || another)
      throw new Error(`${row ? 'several rows say' : 'no row says'} what ${event} does in ${session.state}`);
    session.state = row.next;
    if (row.effect === 'deposit') {
      enqueue('OFF_RAMP_SESSION', sessionId, {
        kind: 'depositOffRamp',
        sessionId,
        tokenAddress: 'receipt',
        amount: AMOUNT,
      });
    } else if (row.effect === 'release') {
      session.resolution = row.next === 'CONFIRMING' ? 'SETTLE' : 'REFUND';
      const kind = session.resolution === 'SETTLE' ? 'confirmOffRampSettlement' : 'refundOffRamp';
      enqueue('OFF_RAMP_SESSION', sessionId, { kind, sessionId });
    }
  }

  function takeEffect({ targetType, targetId, kind }: Submission, conclusion: Conclusion): void {
    if (targetType === 'RETIREMENT') {
      if (conclusion.kind === 'succeeded') credits.set(targetId, 'BURNED');
      if (conclusion.kind === 'refused') credits.set(targetId, 'RETURNED');
      return;
    }
    const session = found(sessions.get(targetId), targetId);
    if (conclusion.kind === 'needsReview') apply(targetId, 'undecidable');
    else if (kind === 'depositOffRamp') {
      // As in offRampEffects.ts: a deposit that an earlier look found needs no second move.
      if (session.depositedAt !== null) return;
      if (conclusion.kind === 'refused') {
        if (session.state === 'DEPOSITING' || session.state === 'NEEDS_REVIEW')
          apply(targetId, 'depositRefused');
        return;
      }
      apply(targetId, 'deposited');
      session.depositedAt = AT;
      session.stateReason = null;
    } else if (conclusion.kind === 'refused') apply(targetId, 'undecidable');
    else {
      const end = session.resolution === 'SETTLE' ? 'SETTLED' : 'REFUNDED';
      apply(targetId, contradiction(end, session.providerStatus) ? 'undecidable' : 'released');
    }
  }

  return {
    submissions,
    credits,
    sessions,
    beginRetirement() {
      const id = `retirement ${credits.size}`;
      credits.set(id, 'HELD');
      const call = {
        kind: 'retire',
        tokenAddress: 'carbon',
        amount: AMOUNT,
        beneficiary: '',
        note: id,
      } as const;
      enqueue('RETIREMENT', id, call);
    },
    beginSession() {
      sessions.set(`session ${sessions.size}`, {
        state: 'OPENING',
        providerStatus: null,
        providerAskedAt: null,
        providerSessionId: null,
        resolution: null,
        depositedAt: null,
        stateReason: null,
        cancelRequestedAt: null,
      });
    },
    openAttempts: openOf,
    sign(submissionId, prepared) {
      const { submission, attempts } = rowOf(submissionId);
      if (!maySign(submission.state, openOf(submissionId))) {
        return submission.state === 'PENDING' ? openOf(submissionId) : [];
      }
      const number = attempts.length + 1;
      const attempt = { ...prepared, submissionId, number, state: 'OPEN' } as Partial<Attempt> as Attempt;
      attempts.push(attempt);
      return [attempt];
    },
    endAttempts(hashes) {
      for (const { attempts } of submissions.values()) {
        for (const attempt of attempts) {
          if (hashes.includes(attempt.hash) && attempt.state === 'OPEN') attempt.state = 'DEAD';
        }
      }
    },
    settle(seen, conclusion) {
      const { submission, attempts } = rowOf(seen.id);
      const open = openOf(seen.id).map(({ hash }) => hash);
      if (isOutdated(submission, open, seen, conclusion)) return false;
      const isOfBytes =
        conclusion.kind === 'succeeded' || (conclusion.kind === 'refused' && conclusion.attemptHash);
      if (!isOfBytes && seen.resumptions !== submission.resumptions)
        throw new Error(`a finding from before its resumption decides ${seen.id}: ${conclusion.kind}`);
      if (conclusion.kind === 'succeeded' || conclusion.kind === 'refused') {
        const decided = conclusion.kind === 'succeeded' ? 'LANDED' : 'REFUSED';
        for (const attempt of attempts) {
          if (attempt.hash === conclusion.attemptHash) attempt.state = decided;
          else if (attempt.state === 'OPEN') attempt.state = 'DEAD';
        }
      }
      const states = { succeeded: 'SUCCEEDED', refused: 'REFUSED', needsReview: 'NEEDS_REVIEW' } as const;
      if (conclusion.kind === 'givenUp' || conclusion.kind === 'adopted')
        throw new Error('the model has no operator');
      submission.state = states[conclusion.kind];
      takeEffect(submission, conclusion);
      return true;
    },
    resume(submissionId) {
      const { submission } = rowOf(submissionId);
      const { targetType, targetId, kind, resumptions } = submission;
      submission.state = 'PENDING';
      submission.resumptions = resumptions + 1;
      if (targetType === 'OFF_RAMP_SESSION')
        apply(targetId, kind === 'depositOffRamp' ? 'depositGoesOn' : 'releaseGoesOn');
    },
    record(sessionId, status) {
      const session = found(sessions.get(sessionId), sessionId);
      if (session.providerStatus === status || (isEnd(session.providerStatus) && !isEnd(status)))
        return false;
      session.providerStatus = status;
      return true;
    },
    apply,
  };
}

export function found<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new Error(`there is no ${name}`);
  return value;
}
