/**
 * What the network's word about an off-ramp session's calls means: its deposit, and the release of what was deposited.
 * Called by submission, inside the transaction that settles the call.
 */
import { and, eq, sql } from 'drizzle-orm';
import type { Db, Tx } from '../../../db/connection.ts';
import type { ChangeSignal } from '../../../db/changeSignal.ts';
import { offRampSessions, submissions } from '../../../db/tables/index.ts';
import type { LedgerNetwork, Refusal } from '../../../ledger/network/port.ts';
import type { Effects, Intent } from '../../../ledger/submission/effects.ts';
import { enqueueSubmission } from '../../../ledger/submission/enqueue.ts';
import { applyEvent, giveBack } from './applyEvent.ts';
import {
  approvalCall,
  OFF_RAMP_SESSIONS,
  contradiction,
  depositCall,
  isAcknowledged,
  lockOffRampSession,
  opened,
  type MoveDependencies,
} from './offRampMoves.ts';
import { settlementMismatch } from './checkCashOut.ts';
import { passTurn } from './custodyDeposits.ts';
import { findOffRampSession, type OffRampSession } from './findOffRampSession.ts';
import { releaseRefused } from './pausedReleases.ts';

export interface SettlementEffectsDependencies extends MoveDependencies {
  db: Db;
  network: LedgerNetwork;
  subjects: Pick<ChangeSignal, 'notify'>;
}

/**
 * A deposit is approved again when something has put another approval in the place of its own. Custody's own don't,
 * because they take turns (custodyDeposits.ts); another program with its key could.
 */
const MAX_APPROVALS = 10;

/** Where a deposit needs one: the settlement contract may take exactly what the deposit will. */
export function approvalEffects(deps: SettlementEffectsDependencies): Effects {
  return {
    async succeeded(tx, { subjectId, submissionId }) {
      const session = opened(await lockOffRampSession(tx, subjectId));
      // Decided otherwise meanwhile: nothing is taken, and the next approval overwrites this one.
      if (!isToBeDeposited(session)) return passTurn(tx, deps, session, submissionId);
      await goOn(tx, deps, session);
      await enqueueSubmission(tx, deps, {
        subjectType: 'OFF_RAMP_SESSION',
        subjectId,
        call: depositCall(session),
      });
    },
    refused: (tx, intent, refusal) => depositRefused(tx, deps, intent, refusal),
    ...reviewEffects(deps, 'depositGoesOn'),
  };
}

export function depositEffects(deps: SettlementEffectsDependencies): Effects {
  return {
    reasonForReview: (intent) => foreignSettlement(deps, intent),
    async succeeded(tx, { subjectId, submissionId }, { txHash }) {
      const session = await lockOffRampSession(tx, subjectId);
      await depositLanded(tx, deps, session, txHash);
      await passTurn(tx, deps, session, submissionId);
    },
    // Whatever the provider said meanwhile is acted on now.
    afterSucceeded: async () => deps.subjects.notify(OFF_RAMP_SESSIONS),
    async refused(tx, intent, refusal) {
      const { subjectId } = intent;
      const session = opened(await lockOffRampSession(tx, subjectId));
      const isUnapproved = refusal.reason === 'INSUFFICIENT_ALLOWANCE';
      if (isUnapproved && isToBeDeposited(session) && (await mayApproveAgain(tx, deps, subjectId))) {
        await goOn(tx, deps, session);
        await enqueueSubmission(tx, deps, {
          subjectType: 'OFF_RAMP_SESSION',
          subjectId,
          call: approvalCall(session),
        });
        return 'REFUSED';
      }
      return depositRefused(tx, deps, intent, refusal);
    },
    ...reviewEffects(deps, 'depositGoesOn'),
  };
}

/** For both signers. */
export async function depositLanded(
  tx: Tx,
  deps: MoveDependencies,
  session: OffRampSession,
  depositTxHash: string | null,
): Promise<void> {
  if (session.depositedAt !== null) {
    // Found before by a look at the settlement contract; now its transaction is known.
    await tx.update(offRampSessions).set({ depositTxHash }).where(eq(offRampSessions.id, session.id));
  } else if (session.state === 'REFUSED') await giveBack(tx, deps, session, { depositTxHash });
  else {
    const values = { depositTxHash, refusalCode: null, refusalMessage: null, depositedAt: sql`now()` };
    await applyEvent(tx, deps, session, 'deposited', { values });
  }
}

/** Still waited for, whether or not an operator is to look at it. */
export function isToBeDeposited({ state, depositedAt }: OffRampSession): boolean {
  return state === 'DEPOSITING' || (state === 'NEEDS_REVIEW' && depositedAt === null);
}

/** What was under review has been decided by the network. */
async function goOn(tx: Tx, deps: MoveDependencies, session: OffRampSession): Promise<void> {
  if (session.state === 'NEEDS_REVIEW') await applyEvent(tx, deps, session, 'depositGoesOn');
}

async function depositRefused(
  tx: Tx,
  deps: SettlementEffectsDependencies,
  { subjectId, submissionId }: Intent,
  refusal: Refusal,
): Promise<'REFUSED'> {
  const session = await lockOffRampSession(tx, subjectId);
  const refused = { refusalCode: 'LEDGER_REJECTED', refusalMessage: refusal.message };
  if (isToBeDeposited(session)) {
    const reason = `the provider has paid, but the deposit was refused: ${refusal.message}`;
    await applyEvent(tx, deps, session, 'depositRefused', { values: refused, reason });
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
    async succeeded(tx, { subjectId }, { txHash }) {
      const session = await lockOffRampSession(tx, subjectId);
      const released = { resolutionTxHash: txHash, releasedAt: sql`now()`, closedAt: sql`now()` };
      const conflict = contradiction(state, session.providerStatus);
      if (conflict !== null && !(await isAcknowledged(tx, subjectId))) {
        const details = { reason: conflict, values: released, stateBefore: state };
        await applyEvent(tx, deps, session, 'releaseContradicted', details);
        return;
      }
      await applyEvent(tx, deps, session, 'released', { values: released });
    },
    async refused(tx, { subjectId }, refusal) {
      const what = state === 'SETTLED' ? 'confirm' : 'refund';
      await releaseRefused(tx, deps, await lockOffRampSession(tx, subjectId), what, refusal);
      return 'REFUSED';
    },
    ...reviewEffects(deps, 'releaseGoesOn'),
  };
}

function reviewEffects(
  deps: SettlementEffectsDependencies,
  resumed: 'depositGoesOn' | 'releaseGoesOn',
): Pick<Effects, 'needsReview' | 'resumed'> {
  return {
    async needsReview(tx, { subjectId }, reason) {
      const session = await lockOffRampSession(tx, subjectId);
      await applyEvent(tx, deps, session, 'undecidable', { reason });
    },
    async resumed(tx, { subjectId }) {
      await applyEvent(tx, deps, await lockOffRampSession(tx, subjectId), resumed);
    },
  };
}

async function foreignSettlement(
  deps: SettlementEffectsDependencies,
  intent: Intent,
): Promise<string | null> {
  const session = await findOffRampSession(deps, intent.subjectId);
  return session && settlementMismatch(deps.network, session);
}
