/**
 * Effects of an off-ramp session's network calls: its deposit, and the release of the deposit. Submission
 * calls them in the transaction that settles the call.
 */
import { and, eq, sql } from 'drizzle-orm';
import type { Db, Tx } from '../../../db/connection.ts';
import type { ChangeSignal } from '../../../db/changeSignal.ts';
import { updateById } from '../../../db/findByIds.ts';
import { offRampSessions, submissions } from '../../../db/tables/index.ts';
import type { LedgerNetwork, Refusal } from '../../../ledger/network/port.ts';
import type { Effects, Intent } from '../../../ledger/submission/effects.ts';
import { applyEvent, giveBack } from './applyEvent.ts';
import {
  allowanceCall,
  DEPOSITED,
  OFF_RAMP_SESSIONS,
  depositCall,
  enqueueCall,
  lockOffRampSession,
  objectionToRelease,
  requireOpenAtProvider,
  type MoveDependencies,
} from './offRampMoves.ts';
import { settlementMismatch } from './checkCashOut.ts';
import { passTurn } from './custodyDeposits.ts';
import { findOffRampSession, type OffRampSession } from './findOffRampSession.ts';
import { releaseRefused } from './pausedReleases.ts';

export interface OffRampEffectsDependencies extends MoveDependencies {
  db: Db;
  network: LedgerNetwork;
  stateSignal: Pick<ChangeSignal, 'notify'>;
}

/**
 * Maximum allowances of a session. The allowance is set again when another one has replaced it. Custody's
 * allowances take turns (custodyDeposits.ts) and don't replace each other, but another program with custody's
 * key could replace one.
 */
const MAX_ALLOWANCES = 10;

/** Where a deposit needs an allowance: the settlement contract may take exactly the amount of the deposit. */
export function allowanceEffects(deps: OffRampEffectsDependencies): Effects {
  return {
    // Otherwise the contract in use may take custody's tokens, for a session that is none of its own.
    reasonForReview: (intent) => foreignSettlement(deps, intent),
    async succeeded(tx, { targetId, submissionId }) {
      const session = requireOpenAtProvider(await lockOffRampSession(tx, targetId));
      // Decided otherwise meanwhile: nothing is deposited, and the next allowance overwrites this one.
      if (!isToBeDeposited(session)) return passTurn(tx, deps, session, submissionId);
      await goOn(tx, deps, session, 'depositGoesOn');
      await enqueueCall(tx, deps, targetId, depositCall(session));
    },
    refused: (tx, intent, refusal) => depositRefused(tx, deps, intent, refusal),
    ...reviewEffects(deps, 'depositGoesOn'),
  };
}

export function depositEffects(deps: OffRampEffectsDependencies): Effects {
  return {
    reasonForReview: (intent) => foreignSettlement(deps, intent),
    async succeeded(tx, { targetId, submissionId }, { txHash }) {
      const session = await lockOffRampSession(tx, targetId);
      await depositLanded(tx, deps, session, txHash);
      await passTurn(tx, deps, session, submissionId);
    },
    afterSucceeded: ({ targetId }) => notifyDeposited(deps, targetId),
    async refused(tx, intent, refusal) {
      const { targetId } = intent;
      const session = requireOpenAtProvider(await lockOffRampSession(tx, targetId));
      const isShort = refusal.reason === 'INSUFFICIENT_ALLOWANCE';
      if (isShort && isToBeDeposited(session) && (await maySetAllowanceAgain(tx, deps, targetId))) {
        await goOn(tx, deps, session, 'depositGoesOn');
        await enqueueCall(tx, deps, targetId, allowanceCall(session));
        return 'REFUSED';
      }
      return depositRefused(tx, deps, intent, refusal);
    },
    ...reviewEffects(deps, 'depositGoesOn'),
  };
}

/** Wakes the worker, which acts on the provider's newest status, and tells the receipt's subscribers. */
export async function notifyDeposited(deps: OffRampEffectsDependencies, sessionId: string): Promise<void> {
  deps.stateSignal.notify(OFF_RAMP_SESSIONS);
  await notifyReceipt(deps, sessionId);
}

/** Records a landed deposit, signed by custody or by a holder. */
export async function depositLanded(
  tx: Tx,
  deps: MoveDependencies,
  session: OffRampSession,
  depositTxHash: string | null,
): Promise<void> {
  if (session.depositedAt !== null) {
    // Found before in the settlement contract; now its transaction is known.
    await updateById(tx, offRampSessions, session.id, { depositTxHash });
  } else if (session.state === 'CLOSED') await giveBack(tx, deps, session, { depositTxHash });
  else {
    await applyEvent(tx, deps, session, 'deposited', { values: { ...DEPOSITED, depositTxHash } });
  }
}

/** Whether the deposit is still awaited, with or without a review. */
export function isToBeDeposited({ state, depositedAt }: OffRampSession): boolean {
  return state === 'DEPOSITING' || (state === 'NEEDS_REVIEW' && depositedAt === null);
}

/**
 * Ends a review that the network's outcome, or a decision about the submission, has decided. A session that
 * could not be flagged (settle.ts) has none.
 */
async function goOn(
  tx: Tx,
  deps: MoveDependencies,
  session: OffRampSession,
  event: 'depositGoesOn' | 'releaseGoesOn',
): Promise<void> {
  if (session.state === 'NEEDS_REVIEW') await applyEvent(tx, deps, session, event);
}

async function depositRefused(
  tx: Tx,
  deps: OffRampEffectsDependencies,
  { targetId, submissionId }: Intent,
  refusal: Refusal,
): Promise<'REFUSED'> {
  const session = await lockOffRampSession(tx, targetId);
  const refused = { refusalCode: 'LEDGER_REFUSED', stateReason: refusal.message };
  if (isToBeDeposited(session)) {
    const reason = `the provider has paid, but the deposit was refused: ${refusal.message}`;
    await applyEvent(tx, deps, session, 'depositRefused', { values: refused, reason });
  }
  await passTurn(tx, deps, session, submissionId);
  return 'REFUSED';
}

async function maySetAllowanceAgain(
  tx: Tx,
  deps: OffRampEffectsDependencies,
  targetId: string,
): Promise<boolean> {
  if (!deps.network.depositsNeedAllowance) return false;
  const allowances = and(eq(submissions.targetId, targetId), eq(submissions.kind, 'setAllowance'));
  return (await tx.$count(submissions, allowances)) < MAX_ALLOWANCES;
}

/** Effects of a release: to the treasury (SETTLED) or back to the depositor (REFUNDED). */
export function releaseEffects(deps: OffRampEffectsDependencies, state: 'SETTLED' | 'REFUNDED'): Effects {
  return {
    reasonForReview: (intent) => reasonNotToRelease(deps, intent, state),
    async succeeded(tx, { targetId }, { txHash }) {
      const session = await lockOffRampSession(tx, targetId);
      const released = { resolutionTxHash: txHash, releasedAt: sql`now()`, endedAt: sql`now()` };
      const conflict = await objectionToRelease(tx, session, state, 'were');
      if (conflict !== null) {
        const details = { reason: conflict, values: released, stateBefore: state };
        await applyEvent(tx, deps, session, 'undecidable', details);
        return;
      }
      await applyEvent(tx, deps, session, 'released', { values: released });
    },
    afterSucceeded: ({ targetId }) => notifyReceipt(deps, targetId),
    async refused(tx, { targetId }, refusal) {
      const what = state === 'SETTLED' ? 'confirm' : 'refund';
      await releaseRefused(tx, deps, await lockOffRampSession(tx, targetId), what, refusal);
      return 'REFUSED';
    },
    ...reviewEffects(deps, 'releaseGoesOn'),
  };
}

/**
 * Tells a receipt's subscribers what is left of it. A failure is ignored: they also look without a
 * notification.
 */
async function notifyReceipt(deps: OffRampEffectsDependencies, sessionId: string): Promise<void> {
  const session = await findOffRampSession(deps, sessionId).catch(() => null);
  if (session) deps.stateSignal.notify(session.receiptId);
}

function reviewEffects(
  deps: OffRampEffectsDependencies,
  resumed: 'depositGoesOn' | 'releaseGoesOn',
): Pick<Effects, 'needsReview' | 'resumed'> {
  return {
    async needsReview(tx, { targetId }, reason) {
      const session = await lockOffRampSession(tx, targetId);
      await applyEvent(tx, deps, session, 'undecidable', { reason });
    },
    async resumed(tx, { targetId }) {
      await goOn(tx, deps, await lockOffRampSession(tx, targetId), resumed);
    },
  };
}

/**
 * Why the provider's status forbids a release that waited: for the end of a pause or of a halt, or for its
 * turn.
 */
async function reasonNotToRelease(
  deps: OffRampEffectsDependencies,
  intent: Intent,
  goal: 'SETTLED' | 'REFUNDED',
): Promise<string | null> {
  const mismatch = await foreignSettlement(deps, intent);
  if (mismatch !== null) return mismatch;
  // Under the lock: a status that came between two reads would count as one about which nothing is decided.
  return deps.db.transaction(async (tx) =>
    objectionToRelease(tx, await lockOffRampSession(tx, intent.targetId), goal, 'are to be'),
  );
}

async function foreignSettlement(deps: OffRampEffectsDependencies, intent: Intent): Promise<string | null> {
  const session = await findOffRampSession(deps, intent.targetId);
  return session && settlementMismatch(deps.network, session);
}
