/**
 * ACCEPT of a reviewed off-ramp session: the state that its settlement contract shows is final.
 */
import { sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { Db, Tx } from '../../db/connection.ts';
import { offRampSessions } from '../../db/tables/index.ts';
import type { OffRampDeposit } from '../../ledger/network/port.ts';
import { readHalt } from '../../ledger/submission/halts.ts';
import { DomainError, type ErrorDetails } from '../../lib/errors.ts';
import type { Needs } from '../core/dependencies.ts';
import { applyEvent } from '../warehouse/offRamp/applyEvent.ts';
import {
  isAsAgreed,
  isOfHolder,
  type OffRampReview,
  type OffRampSession,
} from '../warehouse/offRamp/findOffRampSession.ts';

/** A decision that does not fit the session, its contract or what the network shows. */
export function unfit(message: string, details: ErrorDetails = {}): DomainError {
  return new DomainError('CONFLICT', message, { field: 'input.decision', ...details });
}

/**
 * A deposit that was final is missing only after the network has lost its history. Until the new history is
 * accepted and signing works, the deposit's transaction may land again.
 * @throws DomainError CONFLICT; NetworkUnavailable
 */
export async function requireGoneForGood(
  { db, network }: { db: Db } & Needs<'network'>,
  session: OffRampSession,
  found: OffRampDeposit | null,
): Promise<void> {
  if (session.depositedAt === null || acceptable(session, found) !== null) return;
  const { status } = await network.continuity();
  if (status === 'whole' && (await readHalt(db)) === null) return;
  throw unfit(
    `The settlement contract does not have the deposit ${session.depositTxHash}, which may land again: decide once signing works.`,
  );
}

export async function accept(
  tx: Tx,
  deps: Needs<'submission'>,
  session: OffRampSession,
  found: OffRampDeposit | null,
  review: OffRampReview,
): Promise<void> {
  const held = acceptable(session, found);
  const endedAt = orNow(offRampSessions.endedAt);
  if (held === null && session.depositedAt === null) {
    const stateReason = session.stateReason ?? review.flaggedBecause;
    await applyEvent(tx, deps.submission, session, 'acceptedUndeposited', {
      values: { endedAt, stateReason },
    });
    return;
  }
  // A deposit that the network's present history does not have is with its depositor.
  const status = held?.status ?? 'REFUNDED';
  if (status !== 'SETTLED' && status !== 'REFUNDED') {
    requireUnreleased(session);
    throw unfit(`The settlement contract still holds the tokens (${status}): decide CONFIRM or REFUND.`, {
      depositStatus: status,
    });
  }
  await applyEvent(
    tx,
    deps.submission,
    session,
    status === 'SETTLED' ? 'acceptedSettled' : 'acceptedRefunded',
    {
      values: {
        depositedAt: orNow(offRampSessions.depositedAt),
        releasedAt: orNow(offRampSessions.releasedAt),
        endedAt,
      },
    },
  );
}

/**
 * A session is released once. On a network that lost the release, and has the deposit, another program releases it.
 * @throws DomainError CONFLICT
 */
export function requireUnreleased(session: OffRampSession): void {
  if (session.releasedAt === null) return;
  throw unfit(
    `The settlement contract holds the tokens again, which were released${inTransaction(session)}: release them with ` +
      "custody's key, then ACCEPT.",
  );
}

/** A release that another program made is known without its transaction. */
export function inTransaction({ resolutionTxHash }: OffRampSession): string {
  return resolutionTxHash === null ? '' : ` in ${resolutionTxHash}`;
}

/** The status to keep with a decision. Another party's deposit under the session's id does not count. */
export function depositSeen(
  session: OffRampSession,
  found: OffRampDeposit | null,
): NonNullable<OffRampReview['depositSeen']> {
  const isOwn = found !== null && (isAsAgreed(session, found) || isOfHolder(session, found));
  return isOwn ? found.status : 'NONE';
}

/** A holder's deposit that was to be given back is the session's even when it is not what was agreed. */
function acceptable(session: OffRampSession, found: OffRampDeposit | null): OffRampDeposit | null {
  if (found === null || isAsAgreed(session, found)) return found;
  return session.depositedAt !== null && isOfHolder(session, found) ? found : null;
}

/** Keeps a time that is already set, to the microsecond. */
export function orNow(moment: PgColumn) {
  return sql`coalesce(${moment}, now())`;
}
