/**
 * One look at an off-ramp session that is to be closed at its provider because nothing is deposited: asks the
 * settlement contract, then the provider. transitions.ts says what follows.
 */
import { sql } from 'drizzle-orm';
import type { Needs } from '../../core/dependencies.ts';
import { applyEvent } from './applyEvent.ts';
import { orReview } from './askProvider.ts';
import { obstacleToDeposit } from './checkCashOut.ts';
import { findDeposit } from './findDeposit.ts';
import { isAsAgreed, endedUnseen } from './findOffRampSession.ts';
import {
  DEPOSITED,
  describeTakenBack,
  isEnd,
  moveFrom,
  recordStatus,
  type OpenedOffRampSession,
} from './offRampMoves.ts';
import { paidOtherwise } from './payoutAmount.ts';
import { isToBeGivenBack } from './stepHolderDeposit.ts';

export async function closeAtProvider(
  deps: Needs<'db' | 'network' | 'ramp' | 'submission'>,
  session: OpenedOffRampSession,
): Promise<void> {
  // The network may hold a deposit that was refused here: the session then goes on as deposited.
  const found = await findDeposit(deps, session);
  if (found?.status === 'PENDING' && isAsAgreed(session, found)) {
    return moveFrom(deps, session, (tx, current) =>
      applyEvent(tx, deps.submission, current, 'deposited', { values: DEPOSITED }),
    );
  }
  const answer = await orReview(deps, session, deps.ramp.closeSession(session.providerSessionId));
  if (answer === null) return;
  const { status } = answer;
  const ended = endedUnseen(session, found);
  await moveFrom(deps, session, async (tx, current) => {
    await recordStatus(tx, current, status);
    const takenBack = await describeTakenBack(tx, current, status);
    const contrary = takenBack && `${takenBack}, and nothing was deposited as agreed`;
    const reason = isEnd(status) ? (ended ?? contrary) : null;
    if (reason !== null) await applyEvent(tx, deps.submission, current, 'undecidable', { reason });
    else if (status === 'failed') {
      // The deposit is not as agreed, but consists of the holder's own tokens.
      if (isToBeGivenBack(current, found)) {
        const values = { depositedAt: sql`now()`, endedAt: null };
        await applyEvent(tx, deps.submission, current, 'closedDeposited', { values });
      } else await applyEvent(tx, deps.submission, current, 'closed', { values: { endedAt: sql`now()` } });
    } else if (status === 'settled') {
      // The provider has paid after all, so custody owes the tokens. After a second refusal, or if they are a
      // holder's, an operator decides.
      const obstacle =
        (await paidOtherwise(tx, current, answer)) ?? (await obstacleToDeposit(tx, deps.network, current));
      if (obstacle === null) await applyEvent(tx, deps.submission, current, 'paid');
      else await applyEvent(tx, deps.submission, current, 'undecidable', { reason: obstacle });
    }
  });
}
