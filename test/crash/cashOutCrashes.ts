/**
 * The crash points of a cash-out, of its payout and of its cancellation, for any ledger: the farmer's tokens
 * go once into the settlement contract, and once out of it, to the right owner.
 */
import { eq } from 'drizzle-orm';
import { describe, expect, it } from 'vitest';
import { manualRampSessions, offRampSessions } from '../../src/db/tables/index.ts';
import { toBaseUnits } from '../../src/ledger/units.ts';
import { cancelCashOut } from '../../src/resolvers/warehouse/offRamp/cancelCashOut.ts';
import { cashOut } from '../../src/resolvers/warehouse/offRamp/cashOut.ts';
import { receivePayoutHint } from '../../src/resolvers/warehouse/offRamp/receivePayoutHint.ts';
import type { LedgerConfig } from '../../src/ledger/network/families.ts';
import { activeReceipt, cashOutInput, depositedCashOut, farmer, reaches } from '../support/warehouse.ts';
import type { TestDatabase } from '../support/database/database.ts';
import { itAgreesAfterwards, useSharedInstances } from './instances.ts';
import { CRASH_POINTS } from '../../src/ledger/submission/submission.ts';
import { depositInUse } from '../support/depositInUse.ts';

/** @param calls number of network calls of a deposit: two when an allowance must be set first */
export function describeDepositCrashes(ledger: () => LedgerConfig, calls: 1 | 2): void {
  const { instances, database } = useSharedInstances(ledger);

  describe('cash-out', () => {
    const once = ['request-committed', 'ramp-session-opened', ...CRASH_POINTS] as const;
    const cases = [
      ...once.map((killAt) => ({ killAt, occurrence: 1 })),
      ...CRASH_POINTS.slice(0, calls === 1 ? 0 : undefined).map((killAt) => ({ killAt, occurrence: 2 })),
    ];
    it.each(cases)(
      'opens one session and deposits once after a crash at $killAt ($occurrence)',
      async ({ killAt, occurrence }) => {
        const receipt = await instances.prepare(activeReceipt);
        const sessionsBefore = await providerSessions(database());
        const input = cashOutInput(receipt);
        await instances.crash({ killAt, occurrence, request: { kind: 'cashOut', input } });

        const { dependencies } = await instances.start(2);
        const session = await cashOut(dependencies, farmer, input);
        expect(session.state).toBe('AWAITING_PAYOUT');
        expect(await providerSessions(database())).toBe(sessionsBefore + 1);
        expect(await depositInUse(dependencies.network, session.providerSessionId)).toMatchObject({
          status: 'PENDING',
          amount: toBaseUnits(100n),
        });
        const { custodyAddress } = dependencies.network;
        const left = await dependencies.network.balanceOf(receipt.tokenAddress, custodyAddress);
        expect(left).toBe(toBaseUnits(900n));
      },
    );
  });

  itAgreesAfterwards(instances);
}

export function describePayoutCrashes(ledger: () => LedgerConfig): void {
  const { instances } = useSharedInstances(ledger);

  describe.each([
    { status: 'settled', state: 'SETTLED' },
    { status: 'failed', state: 'REFUNDED' },
  ] as const)('a payout that ended as $status', ({ status, state }) => {
    it.each(CRASH_POINTS)('is resolved once after a crash at %s', async (killAt) => {
      const session = await instances.prepare(depositedCashOut);
      const { id: offRampSessionId, providerSessionId } = session;
      const request = { kind: 'payoutEnds', offRampSessionId, providerSessionId, status } as const;
      await instances.crash({ killAt, occurrence: 1, request });

      const platform = await instances.start(2);
      const { dependencies } = platform;
      await receivePayoutHint(dependencies, providerSessionId);
      expect(await reaches(platform, offRampSessionId, 'SETTLED', 'REFUNDED')).toMatchObject({ state });
      expect(await depositInUse(dependencies.network, providerSessionId)).toMatchObject({ status: state });
    });
  });

  itAgreesAfterwards(instances);
}

export function describeCancelCrashes(ledger: () => LedgerConfig): void {
  const { instances, database } = useSharedInstances(ledger);
  const cancel = (offRampSessionId: string) =>
    ({
      kind: 'cancelCashOut',
      offRampSessionId,
      idempotencyKey: `cancel ${offRampSessionId}`,
    }) as const;

  describe('a cancellation', () => {
    it.each(['request-committed', 'ramp-session-closed', ...CRASH_POINTS] as const)(
      'gives the deposit back once after a crash at %s',
      async (killAt) => {
        const { id, providerSessionId, tokenAddress } = await instances.prepare(depositedCashOut);
        await instances.crash({ killAt, occurrence: 1, request: cancel(id) });

        const platform = await instances.start(2);
        const { dependencies } = platform;
        await cancelCashOut(dependencies, farmer, cancel(id));
        expect(await reaches(platform, id, 'REFUNDED', 'SETTLED')).toMatchObject({
          state: 'REFUNDED',
          providerStatus: 'failed',
        });
        expect(await depositInUse(dependencies.network, providerSessionId)).toMatchObject({
          status: 'REFUNDED',
        });
        const { custodyAddress } = dependencies.network;
        expect(await dependencies.network.balanceOf(tokenAddress, custodyAddress)).toBe(toBaseUnits(1000n));
      },
    );

    it('ends a session that was not opened yet, without asking the provider, after a crash', async () => {
      const receipt = await instances.prepare(activeReceipt);
      const sessionsBefore = await providerSessions(database());
      const input = cashOutInput(receipt);
      const killAt = 'request-committed';
      await instances.crash({ killAt, occurrence: 1, request: { kind: 'cashOut', input } });
      const [begun] = await database()
        .handle.db.select()
        .from(offRampSessions)
        .where(eq(offRampSessions.receiptId, receipt.id));
      await instances.crash({ killAt, occurrence: 1, request: cancel(begun?.id ?? '') });

      const platform = await instances.start(2);
      const session = await reaches(platform, begun?.id ?? '', 'CLOSED');
      expect(session).toMatchObject({ providerAskedAt: null, depositedAt: null });
      expect(await providerSessions(database())).toBe(sessionsBefore);
    });
  });

  itAgreesAfterwards(instances);
}

function providerSessions({ handle: { db } }: TestDatabase): Promise<number> {
  return db.$count(manualRampSessions);
}
