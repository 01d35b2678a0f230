/**
 * What the network's word about a holder's own act means. The act itself is what its submission says (holderActs);
 * here is what else follows: nothing in the books, which know nothing of a holder's own tokens, but a record in the
 * feed, and the way of a cash-out. Called by submission, inside the transaction that settles the call.
 */
import { eq } from 'drizzle-orm';
import { holderActs } from '../db/schema/index.ts';
import type { Effects } from '../ledger/submission/effects.ts';
import { CASH_OUTS, closeReview, giveBack, lockCashOut, moveTo, opened, openReview } from './cashOutMoves.ts';
import type { SettlementEffectsDependencies } from './settlementEffects.ts';

/** For acts that change nothing here: only the network's own record of them counts. */
const NOTHING_FOLLOWS = {
  async succeeded() {},
  async refused() {
    return 'REFUSED' as const;
  },
  async needsReview() {},
  async resumed() {},
} satisfies Effects;

/** @param showInFeed what a landed retirement does, whoever signed it. */
export function holderRetireEffects(showInFeed: Effects['afterSucceeded']): Effects {
  return {
    ...NOTHING_FOLLOWS,
    ...(showInFeed ? { afterSucceeded: showInFeed } : {}),
    /** The token's record doesn't name its transaction; the feed finds it here. */
    async succeeded(tx, { submissionId }, { result, txHash }) {
      if (result.kind !== 'retired') throw new Error(`a retirement returned ${result.kind}`);
      await tx
        .update(holderActs)
        .set({ recordIndex: result.retirementIndex, recordTxHash: txHash })
        .where(eq(holderActs.submissionId, submissionId));
    },
  };
}

/** The deposit after it is signed by the holder, too: it is prepared when it is asked for. */
export function holderApprovalEffects(): Effects {
  return NOTHING_FOLLOWS;
}

export function holderDepositEffects(deps: SettlementEffectsDependencies): Effects {
  return {
    async succeeded(tx, { subjectId }, { txHash, at }) {
      const session = opened(await lockCashOut(tx, subjectId));
      const landed = { depositTxHash: txHash, refusalCode: null, refusalMessage: null };
      if (session.depositedAt !== null) {
        // Found before by a look at the settlement contract; now its transaction is known.
        await moveTo(tx, session, session.state, { depositTxHash: txHash });
      } else if (session.state === 'REFUSED') {
        // Nobody waited any more.
        await giveBack(tx, deps, session, { depositTxHash: txHash });
      } else {
        await closeReview(tx, subjectId, at, null);
        await moveTo(tx, session, 'AWAITING_PAYOUT', { ...landed, depositedAt: at });
      }
    },
    // Whatever the provider said meanwhile is acted on now.
    afterSucceeded: async () => deps.subjects.ring(CASH_OUTS),
    async refused(tx, { subjectId }, refusal, at) {
      const session = await lockCashOut(tx, subjectId);
      const refused = { refusalCode: 'LEDGER_REJECTED', refusalMessage: refusal.message };
      if (session.state === 'DEPOSITING') {
        if (session.providerStatus === 'settled') {
          const reason = `the provider has paid, but the holder's deposit was refused: ${refusal.message}`;
          await openReview(tx, deps, session, reason, refused);
        } else {
          // The holder may sign another one, while the time for it lasts.
          await moveTo(tx, session, 'AWAITING_SIGNATURE', refused);
        }
      } else if (session.state === 'NEEDS_REVIEW' && session.providerStatus !== 'settled') {
        await closeReview(tx, subjectId, at, null);
        await moveTo(tx, session, 'CLOSING', refused);
      }
      return 'REFUSED';
    },
    async needsReview(tx, { subjectId }, reason) {
      const session = await lockCashOut(tx, subjectId);
      // Elsewhere nobody waits for it any more, and the settlement contract is looked at.
      if (session.state === 'DEPOSITING') await openReview(tx, deps, session, reason);
    },
    async resumed(tx, { subjectId }) {
      const session = await lockCashOut(tx, subjectId);
      if (session.state !== 'NEEDS_REVIEW') return;
      await closeReview(tx, subjectId, deps.clock.now(), null);
      await moveTo(tx, session, 'DEPOSITING');
    },
  };
}
