/**
 * What the network's word about a cash-out's calls means: its deposit, and the release of what was deposited.
 * Called by submission, inside the transaction that settles the call.
 */
import { and, eq } from 'drizzle-orm';
import type { Db, Tx } from '../db/connection.ts';
import type { Doorbell } from '../db/doorbell.ts';
import { submissions } from '../db/schema/index.ts';
import type { LedgerNetwork, Refusal } from '../ledger/network/port.ts';
import type { Effects, Intent } from '../ledger/submission/effects.ts';
import { enqueueSubmission } from '../ledger/submission/enqueue.ts';
import {
  approvalCall,
  CASH_OUTS,
  closeReview,
  contradiction,
  depositCall,
  isAcknowledged,
  lockCashOut,
  moveTo,
  opened,
  openReview,
  type MoveDependencies,
} from './cashOutMoves.ts';
import { settlementMismatch } from './checkCashOut.ts';
import { findCashOut } from './findCashOut.ts';

export interface SettlementEffectsDependencies extends MoveDependencies {
  db: Db;
  network: LedgerNetwork;
  subjects: Pick<Doorbell, 'ring'>;
}

/** A deposit is approved again when another one of the same token has put its own approval in its place. */
const MAX_APPROVALS = 10;

/** Where a deposit needs one: the settlement contract may take exactly what the deposit will. */
export function approvalEffects(deps: SettlementEffectsDependencies): Effects {
  return {
    async succeeded(tx, { subjectId }) {
      const call = depositCall(opened(await lockCashOut(tx, subjectId)));
      await enqueueSubmission(tx, deps, { subjectId, call });
    },
    refused: (tx, intent, refusal, at) => depositRefused(tx, deps, intent, refusal, at),
    ...reviewEffects(deps, 'DEPOSITING'),
  };
}

export function depositEffects(deps: SettlementEffectsDependencies): Effects {
  return {
    reasonForReview: (intent) => foreignSettlement(deps, intent),
    async succeeded(tx, { subjectId }, { txHash, at }) {
      const session = await lockCashOut(tx, subjectId);
      await closeReview(tx, subjectId, at, null);
      await moveTo(tx, session, 'AWAITING_PAYOUT', {
        depositTxHash: txHash,
        depositedAt: at,
        refusalCode: null,
        refusalMessage: null,
      });
    },
    // Whatever the provider said meanwhile is acted on now.
    afterSucceeded: async () => deps.subjects.ring(CASH_OUTS),
    async refused(tx, intent, refusal, at) {
      if (
        refusal.reason === 'INSUFFICIENT_ALLOWANCE' &&
        (await mayApproveAgain(tx, deps, intent.subjectId))
      ) {
        const call = approvalCall(opened(await lockCashOut(tx, intent.subjectId)));
        await enqueueSubmission(tx, deps, { subjectId: intent.subjectId, call });
        return 'REFUSED';
      }
      return depositRefused(tx, deps, intent, refusal, at);
    },
    ...reviewEffects(deps, 'DEPOSITING'),
  };
}

async function depositRefused(
  tx: Tx,
  deps: SettlementEffectsDependencies,
  { subjectId }: Intent,
  refusal: Refusal,
  at: Date,
): Promise<'REFUSED'> {
  const session = await lockCashOut(tx, subjectId);
  const refused = { refusalCode: 'LEDGER_REJECTED', refusalMessage: refusal.message };
  if (session.providerStatus === 'settled') {
    const reason = `the provider has paid, but the deposit was refused: ${refusal.message}`;
    await openReview(tx, deps, session, reason, refused);
    return 'REFUSED';
  }
  await closeReview(tx, subjectId, at, null);
  await moveTo(tx, session, 'CLOSING', refused);
  return 'REFUSED';
}

async function mayApproveAgain(
  tx: Tx,
  deps: SettlementEffectsDependencies,
  subjectId: string,
): Promise<boolean> {
  if (!deps.network.depositsNeedApproval) return false;
  const approvals = and(eq(submissions.subjectId, subjectId), eq(submissions.kind, 'approve'));
  return (await tx.$count(submissions, approvals)) < MAX_APPROVALS;
}

/** For both ways out of custody: to the treasury (SETTLED) and back to the depositor (REFUNDED). */
export function releaseEffects(
  deps: SettlementEffectsDependencies,
  goal: { state: 'SETTLED' | 'REFUNDED' },
): Effects {
  const { state } = goal;
  return {
    reasonForReview: (intent) => foreignSettlement(deps, intent),
    async succeeded(tx, { subjectId }, { txHash, at }) {
      const session = await lockCashOut(tx, subjectId);
      const released = { resolutionTxHash: txHash, releasedAt: at, closedAt: at };
      const conflict = contradiction(state, session.providerStatus);
      if (conflict !== null && !(await isAcknowledged(tx, subjectId))) {
        await openReview(tx, deps, session, conflict, released, state);
        return;
      }
      await closeReview(tx, subjectId, at, null);
      await moveTo(tx, session, state, released);
    },
    async refused(tx, { subjectId }, refusal) {
      const session = await lockCashOut(tx, subjectId);
      const reason = `the network refused to ${state === 'SETTLED' ? 'confirm' : 'refund'}: ${refusal.message}`;
      await openReview(tx, deps, session, reason);
      return 'REFUSED';
    },
    ...reviewEffects(deps, state === 'SETTLED' ? 'CONFIRMING' : 'REFUNDING'),
  };
}

function reviewEffects(
  deps: SettlementEffectsDependencies,
  stateWhenResumed: 'DEPOSITING' | 'CONFIRMING' | 'REFUNDING',
): Pick<Effects, 'needsReview' | 'resumed'> {
  return {
    async needsReview(tx, { subjectId }, reason) {
      await openReview(tx, deps, await lockCashOut(tx, subjectId), reason);
    },
    async resumed(tx, { subjectId }) {
      const session = await lockCashOut(tx, subjectId);
      await closeReview(tx, subjectId, deps.clock.now(), null);
      await moveTo(tx, session, stateWhenResumed);
    },
  };
}

async function foreignSettlement(
  deps: SettlementEffectsDependencies,
  intent: Intent,
): Promise<string | null> {
  const session = await findCashOut(deps, intent.subjectId);
  return session && settlementMismatch(deps.network, session);
}
