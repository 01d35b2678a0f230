/**
 * Cash-outs that a reconciliation compares with less than everything: of settlement contracts that are not in use any more, under
 * review, or decided by an operator.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { EmbeddedNetwork } from '../../../src/ledger/network/embedded/network.ts';
import type { LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { reconcileReceipts } from '../../../src/reconciliation/reconcileReceipts.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import type { TestDatabase } from '../../support/database/database.ts';
import { startFaultyPlatform } from '../../support/faults/faultyPlatform.ts';
import { activeReceipt, depositedCashOut } from '../../support/warehouse.ts';

let database: TestDatabase;
let network: EmbeddedNetwork;
let platform: Platform;

beforeAll(async () => {
  ({ database, network, platform } = await startFaultyPlatform(() => null));
});
afterAll(async () => {
  await platform.stop();
  await database.drop();
});

it('holds each settlement contract against its own cash-outs, also when another one or none is in use', async () => {
  const receipt = await activeReceipt(platform);
  await depositedCashOut(platform, receipt);
  const inUse = await network.settlementContract();
  if (inUse === null) throw new Error('no settlement contract is in use');
  const compare = (over: Partial<LedgerNetwork>) =>
    reconcileReceipts({
      ...platform.dependencies,
      network: { ...network, ...over },
      receiptIds: [receipt.id],
    });
  const other = { ...inUse, address: network.custodyAddress.replace(/.$/, 'A') };
  const balanceOf: LedgerNetwork['balanceOf'] = async (token, holder) =>
    holder === other.address ? 0n : network.balanceOf(token, holder);
  for (const settlementContract of [async () => other, async () => null]) {
    expect(await compare({ settlementContract, balanceOf })).toMatchObject({ findings: [], notProved: [] });
    const { findings } = await compare({ settlementContract, balanceOf: async () => 0n });
    expect(findings).toEqual([
      {
        invariant: 'I9',
        message: expect.stringMatching(
          new RegExp(`the settlement contract ${inUse.address} holds 0 base units, .* say 100\\d{18}$`),
        ),
      },
    ]);
  }
});
