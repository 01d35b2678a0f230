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
  giveBack,
  isAcknowledged,
  lockCashOut,
  moveTo,
  opened,
  openReview,
  type MoveDependencies,
} from './cashOutMoves.ts';
import { settlementMismatch } from './checkCashOut.ts';
import { passTurn } from './custodyDeposits.ts';
import { findCashOut, type CashOut } from './findCashOut.ts';

export interface SettlementEffectsDependencies extends MoveDependencies {
  db: Db;
  network: LedgerNetwork;
  subjects: Pick<Doorbell, 'ring'>;
}

/**
 * A deposit is approved again when something has put another approval in the place of its own. Custody's own don't,
 * because they take turns (custodyDeposits.ts); whoever has its key could.
 */
const MAX_APPROVALS = 10;

/** Where a deposit needs one: the settlement contract may take exactly what the deposit will. */
export function approvalEffects(deps: SettlementEffectsDependencies): Effects {
  return {
    async succeeded(tx, { subjectId, submissionId }, { at }) {
      const session = opened(await lockCashOut(tx, subjectId));
      // Decided otherwise meanwhile: nothing is taken, and the next approval overwrites this one.
      if (!isToBeDeposited(session)) return passTurn(tx, deps, session, submissionId);
      await goOn(tx, session, at);
      await enqueueSubmission(tx, deps, { subjectId, call: depositCall(session) });
    },
    refused: (tx, intent, refusal, at) => depositRefused(tx, deps, intent, refusal, at),
    ...reviewEffects(deps, 'DEPOSITING'),
  };
}

export function depositEffects(deps: SettlementEffectsDependencies): Effects {
  return {
    reasonForReview: (intent) => foreignSettlement(deps, intent),
    async succeeded(tx, { subjectId, submissionId }, { txHash, at }) {
      const session = opened(await lockCashOut(tx, subjectId));
      if (session.depositedAt !== null) {
        // Found before by a look at the settlement contract; now its transaction is known.
        await moveTo(tx, session, session.state, { depositTxHash: txHash });
      } else if (session.state === 'REFUSED') {
        // Nobody waited any more.
        await giveBack(tx, deps, session, { depositTxHash: txHash });
      } else {
        await closeReview(tx, subjectId, at, null);
        const landed = { depositTxHash: txHash, refusalCode: null, refusalMessage: null };
        await moveTo(tx, session, 'AWAITING_PAYOUT', { ...landed, depositedAt: at });
      }
      await passTurn(tx, deps, session, submissionId);
    },
    // Whatever the provider said meanwhile is acted on now.
    afterSucceeded: async () => deps.subjects.ring(CASH_OUTS),
    async refused(tx, intent, refusal, at) {
      const { subjectId } = intent;
      const session = opened(await lockCashOut(tx, subjectId));
      const isUnapproved = refusal.reason === 'INSUFFICIENT_ALLOWANCE';
      if (isUnapproved && isToBeDeposited(session) && (await mayApproveAgain(tx, deps, subjectId))) {
        await goOn(tx, session, at);
        await enqueueSubmission(tx, deps, { subjectId, call: approvalCall(session) });
        return 'REFUSED';
      }
      return depositRefused(tx, deps, intent, refusal, at);
    },
    ...reviewEffects(deps, 'DEPOSITING'),
  };
}

/** Still waited for, whether or not an operator is to look at it. */
function isToBeDeposited({ state, depositedAt }: CashOut): boolean {
  return state === 'DEPOSITING' || (state === 'NEEDS_REVIEW' && depositedAt === null);
}

/** What was under review has been decided by the network. */
async function goOn(tx: Tx, session: CashOut, at: Date): Promise<void> {
  if (session.state !== 'NEEDS_REVIEW') return;
  await closeReview(tx, session.id, at, null);
  await moveTo(tx, session, 'DEPOSITING');
}

async function depositRefused(
  tx: Tx,
  deps: SettlementEffectsDependencies,
  { subjectId, submissionId }: Intent,
  refusal: Refusal,
  at: Date,
): Promise<'REFUSED'> {
  const session = await lockCashOut(tx, subjectId);
  const refused = { refusalCode: 'LEDGER_REJECTED', refusalMessage: refusal.message };
  if (isToBeDeposited(session) && session.providerStatus === 'settled') {
    const reason = `the provider has paid, but the deposit was refused: ${refusal.message}`;
    await openReview(tx, deps, session, reason, refused);
  } else if (isToBeDeposited(session)) {
    await closeReview(tx, subjectId, at, null);
    await moveTo(tx, session, 'CLOSING', refused);
  }
  await passTurn(tx, deps, session, submissionId);
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
