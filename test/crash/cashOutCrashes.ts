/**
 * The crash points of a cash-out and of its payout, for any ledger: the farmer's tokens go into custody once, and out
 * of it once, to where they belong.
 */
import { describe, expect, it } from 'vitest';
import { audit } from '../../src/audit/audit.ts';
import { manualRampSessions } from '../../src/db/schema/index.ts';
import { toBaseUnits } from '../../src/ledger/units.ts';
import { cashOut } from '../../src/resolvers/cashOut.ts';
import { receivePayoutHint } from '../../src/resolvers/receivePayoutHint.ts';
import type { TestLedger } from '../harness/ledgers.ts';
import { activeReceipt, cashOutInput, depositedCashOut, farmer, reaches } from '../harness/warehouse.ts';
import { stageInstances } from './instances.ts';
import { SUBMISSION_POINTS } from './order.ts';

const CLEAN = { findings: [], unsettledReceipts: 0 };

/** @param calls how many network calls a deposit takes: two where it has to be approved first */
export function describeDepositCrashes(ledger: () => TestLedger, calls: 1 | 2): void {
  const { instances, database } = stageInstances(ledger);

  describe('cash-out', () => {
    const once = ['request-committed', 'ramp-session-opened', ...SUBMISSION_POINTS] as const;
    const cases = [
      ...once.map((killAt) => ({ killAt, occurrence: 1 })),
      ...SUBMISSION_POINTS.slice(0, calls === 1 ? 0 : undefined).map((killAt) => ({ killAt, occurrence: 2 })),
    ];
    it.each(cases)(
      'opens one session and deposits once after a crash at $killAt ($occurrence)',
      async ({ killAt, occurrence }) => {
        const receipt = await activeReceipt(await instances.start(1));
        await instances.stop();
        const input = cashOutInput(receipt);
        await instances.crash({ killAt, occurrence, request: { kind: 'cashOut', input } });

        const { dependencies } = await instances.start(2);
        const session = await cashOut(dependencies, farmer, input);
        expect(session.state).toBe('AWAITING_PAYOUT');
        expect(await database().handle.db.select().from(manualRampSessions)).toHaveLength(1);
        expect(await dependencies.network.offRampDeposit(session.providerSessionId ?? '')).toMatchObject({
          status: 'PENDING',
          amount: toBaseUnits(100n),
        });
        const { custodyAddress } = dependencies.network;
        const left = await dependencies.network.balanceOf(receipt.tokenAddress, custodyAddress);
        expect(left).toBe(toBaseUnits(900n));
        expect(await audit(dependencies)).toMatchObject(CLEAN);
      },
    );
  });
}

export function describePayoutCrashes(ledger: () => TestLedger): void {
  const { instances } = stageInstances(ledger);

  describe.each([
    { status: 'settled', state: 'SETTLED' },
    { status: 'failed', state: 'REFUNDED' },
  ] as const)('a payout that ended as $status', ({ status, state }) => {
    it.each(SUBMISSION_POINTS)('is resolved once after a crash at %s', async (killAt) => {
      const session = await depositedCashOut(await instances.start(1));
      await instances.stop();
      const { id: cashOutId, providerSessionId } = session;
      const request = { kind: 'payoutEnds', cashOutId, providerSessionId, status } as const;
      await instances.crash({ killAt, occurrence: 1, request });

      const platform = await instances.start(2);
      const { dependencies } = platform;
      await receivePayoutHint(dependencies, providerSessionId);
      expect(await reaches(platform, cashOutId, 'SETTLED', 'REFUNDED')).toMatchObject({ state });
      expect(await dependencies.network.offRampDeposit(providerSessionId)).toMatchObject({ status: state });
      expect(await audit(dependencies)).toMatchObject(CLEAN);
    });
  });
}
