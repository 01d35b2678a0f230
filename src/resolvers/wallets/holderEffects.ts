/**
 * Effects of a holder's own act. Its submission has the act's state (holderActs). The books know nothing of a
 * holder's own tokens, so the effects are a record in the feed and moves of an off-ramp session. Submission
 * calls them in the transaction that settles the call.
 */
import { eq } from 'drizzle-orm';
import { holderActs } from '../../db/tables/index.ts';
import type { Effects } from '../../ledger/submission/effects.ts';
import { applyEvent } from '../warehouse/offRamp/applyEvent.ts';
import { lockOffRampSession } from '../warehouse/offRamp/offRampMoves.ts';
import {
  depositLanded,
  isToBeDeposited,
  notifyDeposited,
  type OffRampEffectsDependencies,
} from '../warehouse/offRamp/offRampEffects.ts';

/** For an allowance, after which no deposit is enqueued: the holder requests and signs it. */
export const NO_EFFECTS = {
  async succeeded() {},
  async refused() {
    return 'REFUSED' as const;
  },
  async needsReview() {},
  async resumed() {},
} satisfies Effects;

/** @param showInFeed adds a landed retirement to the feed, as for a retirement that custody signs. */
export function holderRetireEffects(showInFeed: NonNullable<Effects['afterSucceeded']>): Effects {
  return {
    ...NO_EFFECTS,
    afterSucceeded: showInFeed,
    /** The token's record lacks its transaction's hash; the feed reads the hash from the act's submission. */
    async succeeded(tx, { submissionId }, { result }) {
      if (result.kind !== 'retired') throw new Error(`a retirement returned ${result.kind}`);
      await tx
        .update(holderActs)
        .set({ recordIndex: result.retirementIndex })
        .where(eq(holderActs.submissionId, submissionId));
    },
  };
}

export function holderDepositEffects(deps: OffRampEffectsDependencies): Effects {
  return {
    async succeeded(tx, { targetId }, { txHash }) {
      await depositLanded(tx, deps, await lockOffRampSession(tx, targetId), txHash);
    },
    afterSucceeded: ({ targetId }) => notifyDeposited(deps, targetId),
    async refused(tx, { targetId }, refusal) {
      const session = await lockOffRampSession(tx, targetId);
      const refused = { refusalCode: 'LEDGER_REFUSED', stateReason: refusal.message };
      const isPaid = session.providerStatus === 'settled';
      // A session that is under review because it is paid keeps its review and the reason.
      if (isToBeDeposited(session) && !(session.state === 'NEEDS_REVIEW' && isPaid)) {
        const reason = `the provider has paid, but the holder's deposit was refused: ${refusal.message}`;
        await applyEvent(tx, deps, session, 'depositRefused', { values: refused, reason });
      }
      return 'REFUSED';
    },
    async needsReview(tx, { targetId }, reason) {
      const session = await lockOffRampSession(tx, targetId);
      // In other states nothing waits for this submission, and the settlement contract is read.
      if (session.state === 'DEPOSITING') await applyEvent(tx, deps, session, 'undecidable', { reason });
    },
    async resumed(tx, { targetId }) {
      const session = await lockOffRampSession(tx, targetId);
      if (session.state === 'NEEDS_REVIEW' && session.depositedAt === null) {
        await applyEvent(tx, deps, session, 'depositGoesOn');
      }
    },
  };
}
