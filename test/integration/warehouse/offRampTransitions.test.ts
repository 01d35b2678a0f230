/**
 * The table of an off-ramp session's states against the database: its triggers and checks allow the moves of
 * the table, and no others.
 */
import { randomUUID } from 'node:crypto';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Tx } from '../../../src/db/connection.ts';
import { offRampReviews, offRampSessions, submissions } from '../../../src/db/tables/index.ts';
import { applyEvent } from '../../../src/resolvers/warehouse/offRamp/applyEvent.ts';
import type { Refusal } from '../../../src/ledger/network/port.ts';
import type { OffRampSession } from '../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import { lockOffRampSession } from '../../../src/resolvers/warehouse/offRamp/offRampMoves.ts';
import { releaseRefused } from '../../../src/resolvers/warehouse/offRamp/pausedReleases.ts';
import { holderDepositEffects } from '../../../src/resolvers/wallets/holderEffects.ts';
import {
  matchingTransitions,
  TRANSITIONS,
  type Depositor,
  type Facts,
  type Transition,
} from '../../../src/resolvers/warehouse/offRamp/transitions.ts';
import type { TokenizedReceipt } from '../../../src/resolvers/warehouse/findReceipt.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { startPlatform, type StartedPlatform } from '../../support/platform.ts';
import { activeReceipt } from '../../support/warehouse.ts';
import type { TestDatabase } from '../../support/database/database.ts';
import { offRampSessionRow } from '../../support/offRampSessionRow.ts';
import { possibleFacts } from '../../support/offRampFacts.ts';

let database: TestDatabase;
let platform: Platform;
let end: StartedPlatform['end'];
let receipt: TokenizedReceipt;

beforeAll(async () => {
  ({ database, platform, end } = await startPlatform());
  receipt = await activeReceipt(platform);
});
afterAll(() => end());

class RolledBack extends Error {}

/** Rolls the work back, so that the workers never see it. */
async function trying(work: (tx: Tx) => Promise<void>): Promise<void> {
  const attempt = database.handle.db.transaction(async (tx) => {
    await work(tx);
    throw new RolledBack();
  });
  await attempt.catch((error: unknown) => {
    if (!(error instanceof RolledBack)) throw error;
  });
}

/** Inserts a session in the state, with these facts. */
async function insertSession(
  tx: Tx,
  depositor: Depositor,
  state: OffRampSession['state'],
  facts: Facts,
  values: Partial<OffRampSession> = {},
): Promise<OffRampSession> {
  const at = new Date();
  const isEnd = state === 'SETTLED' || state === 'REFUNDED';
  const [session] = await tx
    .insert(offRampSessions)
    .values({
      ...offRampSessionRow({ state, depositor, receiptId: receipt.id, tokenAddress: receipt.tokenAddress }),
      signatureDueAt: depositor === 'HOLDER' ? at : null,
      depositorAddress: platform.dependencies.network.custodyAddress,
      providerName: platform.dependencies.ramp.name,
      providerAskedAt: at,
      providerSessionId: state === 'OPENING' ? null : randomUUID(),
      providerStatus: facts.isPaid ? 'settled' : facts.isFailed ? 'failed' : null,
      depositedAt: facts.isDeposited ? at : null,
      releasedAt: isEnd ? at : null,
      resolution: facts.resolution,
      stateReason: facts.isStopped ? 'refused' : null,
      cancelRequestedAt: facts.isCancelled ? at : null,
      cancelRequestedBy: facts.isCancelled ? 'farmer-1' : null,
      endedAt: isEnd || state === 'CLOSED' ? at : null,
      ...values,
    })
    .returning();
  if (!session) throw new Error('nothing was inserted');
  if (state === 'NEEDS_REVIEW') {
    await tx.insert(offRampReviews).values({
      id: randomUUID(),
      offRampSessionId: session.id,
      flaggedBecause: 'a test',
      stateBefore: state,
      openedAt: at,
    });
  }
  return session;
}

/** The values that callers write with a move: times, and the reason for the state. */
function valuesFor({ from, next, event }: Transition, session: OffRampSession) {
  const now = sql`now()`;
  // The provider may disagree with what was released.
  const isContradicted =
    event === 'undecidable' && ['CONFIRMING', 'REFUNDING', 'NEEDS_REVIEW'].includes(from);
  const isReleased = next === 'SETTLED' || next === 'REFUNDED' || isContradicted;
  const isInCustody = isReleased || ['AWAITING_PAYOUT', 'CONFIRMING', 'REFUNDING'].includes(next);
  return {
    ...(from === 'OPENING' && event !== 'undecidable' ? { providerSessionId: randomUUID() } : {}),
    ...(isInCustody && session.depositedAt === null ? { depositedAt: now } : {}),
    ...(isReleased && session.releasedAt === null ? { releasedAt: now } : {}),
    ...(isReleased || next === 'CLOSED' ? { endedAt: now } : {}),
    ...(next === 'CLOSED' ? { stateReason: 'refused' } : {}),
  };
}

const moves = TRANSITIONS.flatMap((row) =>
  (row.depositor === 'ANY' ? (['CUSTODY', 'HOLDER'] as const) : [row.depositor]).map((depositor) => ({
    ...row,
    depositor,
  })),
);

/** Callers refuse the opposite decision earlier, and so does the trigger. */
function isDecidedOtherwise({ next, effect }: Transition, { resolution }: Facts): boolean {
  if (effect !== 'release' || resolution === null) return false;
  return resolution !== (next === 'CONFIRMING' ? 'SETTLE' : 'REFUND');
}

describe('the database', () => {
  it('allows exactly the moves of the table', async () => {
    const [trigger] = await database.handle.sql<{ arguments: string }[]>`
      SELECT encode(tgargs, 'escape') AS arguments FROM pg_trigger WHERE tgname = 'off_ramp_sessions_rules'`;
    const allowed = trigger?.arguments.split('\\000')[2]?.split(' ') ?? [];
    const changes = TRANSITIONS.filter(({ from, next }) => from !== next);
    const ofTable = new Set(changes.map(({ from, next }) => `${from}>${next}`));
    expect(allowed.toSorted()).toEqual([...ofTable].toSorted());
  });

  it.each(moves)('takes $depositor from $from by $event to $next', async (row) => {
    const { depositor, from, event, next, effect } = row;
    const facts = possibleFacts(depositor, from).filter(
      (facts) =>
        matchingTransitions(depositor, from, event, facts).some((found) => found.next === next) &&
        !isDecidedOtherwise(row, facts),
    );
    expect(facts).not.toEqual([]);
    // The status and an earlier refusal decide between rows of the table, but the database checks neither.
    const byDeposit = new Map(
      facts.map((known) => [`${known.isDeposited} ${known.resolution} ${known.isCancelled}`, known]),
    );
    for (const known of byDeposit.values()) {
      await trying(async (tx) => {
        const session = await insertSession(tx, depositor, from, known);
        await applyEvent(tx, platform.dependencies, session, event, {
          values: valuesFor(row, session),
          reason: 'a test',
          isUnderWay: known.isUnderWay,
        });
        expect(await lockOffRampSession(tx, session.id)).toMatchObject({ state: next, depositor });

        const open = and(eq(offRampReviews.offRampSessionId, session.id), isNull(offRampReviews.closedAt));
        expect(await tx.$count(offRampReviews, open)).toBe(next === 'NEEDS_REVIEW' ? 1 : 0);
        const enqueued = await tx
          .select({ kind: submissions.kind })
          .from(submissions)
          .where(eq(submissions.targetId, session.id));
        const release = next === 'CONFIRMING' ? 'confirmOffRampSettlement' : 'refundOffRamp';
        const kinds = { deposit: ['depositOffRamp'], release: [release], none: [] };
        expect(enqueued.map(({ kind }) => kind)).toEqual(kinds[effect ?? 'none']);
      });
    }
  });
});

const facts: Facts = {
  isStopped: false,
  isPaid: false,
  isFailed: false,
  isDeposited: false,
  resolution: null,
  isUnderWay: false,
  isCancelled: false,
};

describe('a session', () => {
  it('is not moved by an event that its state does not know', async () => {
    await trying(async (tx) => {
      const session = await insertSession(tx, 'CUSTODY', 'AWAITING_PAYOUT', { ...facts, isDeposited: true });
      await expect(applyEvent(tx, platform.dependencies, session, 'released')).rejects.toThrow('no row says');
    });
  });

  it('stays due by a hint when a pause blocks its release, which is tried again later', async () => {
    await trying(async (tx) => {
      const due = { dueAt: new Date(0) };
      const settling = { ...facts, isDeposited: true, resolution: 'SETTLE' } as const;
      const session = await insertSession(tx, 'CUSTODY', 'CONFIRMING', settling, due);
      const refusal: Refusal = { reason: 'PAUSED', message: 'it is paused' };
      await releaseRefused(tx, platform.dependencies.submission, session, 'confirm', refusal);
      expect(await lockOffRampSession(tx, session.id)).toMatchObject({ state: 'NEEDS_REVIEW', ...due });
    });
  });

  it('has a review for each reason, of which the last is open', async () => {
    await trying(async (tx) => {
      const session = await insertSession(tx, 'CUSTODY', 'NEEDS_REVIEW', facts);
      for (const reason of ['another', 'another']) {
        await applyEvent(tx, platform.dependencies, session, 'undecidable', { reason });
      }
      const { flaggedBecause, closedAt, decision } = offRampReviews;
      const reviews = await tx
        .select({ flaggedBecause, isOpen: isNull(closedAt), decision })
        .from(offRampReviews)
        .where(eq(offRampReviews.offRampSessionId, session.id));
      expect(reviews).toEqual([
        { flaggedBecause: 'a test', isOpen: false, decision: null },
        { flaggedBecause: 'another', isOpen: true, decision: null },
      ]);
    });
  });

  it('stays under review when another deposit of its holder is refused after one has landed', async () => {
    await trying(async (tx) => {
      const takenBack = { providerStatus: 'refunded' } as const;
      const deposited = { ...facts, isDeposited: true };
      const { id } = await insertSession(tx, 'HOLDER', 'NEEDS_REVIEW', deposited, takenBack);
      const effects = holderDepositEffects(platform.dependencies);
      const call = { kind: 'depositOffRamp', sessionId: 's', tokenAddress: 't', amount: 1n } as const;
      const targetType = 'OFF_RAMP_SESSION';
      const intent = {
        submissionId: randomUUID(),
        targetType,
        targetId: id,
        signer: 'HOLDER',
        call,
      } as const;
      const refusal: Refusal = { reason: 'REFERENCE_ALREADY_USED', message: 'the reference is used' };
      expect(await effects.refused(tx, intent, refusal, new Date())).toBe('REFUSED');
      expect(await lockOffRampSession(tx, id)).toMatchObject({ state: 'NEEDS_REVIEW', stateReason: null });
    });
  });
});
