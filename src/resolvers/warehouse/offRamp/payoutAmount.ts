/**
 * Handles a payout of another amount than was quoted, if the provider reports the amount.
 */
import { eq } from 'drizzle-orm';
import type { Tx } from '../../../db/connection.ts';
import { offRampReviews } from '../../../db/tables/index.ts';
import type { RampAnswer } from '../../../ramp/port.ts';
import { describeOtherFiat } from '../../../ramp/quotedFiat.ts';
import type { Needs } from '../../core/dependencies.ts';
import { applyEvent } from './applyEvent.ts';
import type { OffRampSession } from './findOffRampSession.ts';
import { isDecided } from './offRampMoves.ts';

/** After a payout of another amount, the tokens stay where they are until an operator decides. */
export async function releasePaid(
  tx: Tx,
  deps: Needs<'submission'>,
  session: OffRampSession,
  answer: RampAnswer,
): Promise<void> {
  const reason = await paidOtherwise(tx, session, answer);
  if (reason === null) await applyEvent(tx, deps.submission, session, 'paid');
  else await applyEvent(tx, deps.submission, session, 'undecidable', { reason });
}

/**
 * An operator who has decided about this amount is not asked again. A decision about something else, such as
 * a payout before the deposit, does not count: no other review shows the amount.
 */
export async function paidOtherwise(
  tx: Tx,
  session: OffRampSession,
  answer: RampAnswer,
): Promise<string | null> {
  const otherFiat = describeOtherFiat(session, answer);
  if (otherFiat === null) return null;
  const isAbout = eq(offRampReviews.flaggedBecause, otherFiat);
  return (await isDecided(tx, session.id, isAbout)) ? null : otherFiat;
}
