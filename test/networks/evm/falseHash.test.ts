/**
 * A stranger's retirement on a real EVM chain, reported by a correctly signed delivery with a false
 * transaction: the feed shows the transaction in which the token logged the retirement.
 */
import { createHmac, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { retirementRecords } from '../../../src/db/tables/index.ts';
import type { HolderCall, LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { connectLedger } from '../../../devnet/ledgers.ts';
import { storeRegistration } from '../../support/indexerRegistrations.ts';
import { startMarketplace, type Marketplace } from '../../support/http/marketplace.ts';
import { openProject } from '../../../devnet/platform.ts';
import { startEvmWorld, type EvmWorld } from '../../../devnet/evm/evmWorld.ts';

const TONNE = 10n ** 18n;
const SECRET = 'the secret';

let world: EvmWorld;
let database: TestDatabase;
let network: LedgerNetwork;
let market: Marketplace;

beforeAll(async () => {
  world = await startEvmWorld();
  database = await createTestDatabase();
  network = await connectLedger(world.ledger, database.handle);
  market = await startMarketplace({ database, network, withIndexer: false });
  await storeRegistration(market.app.dependencies, SECRET);
});
afterAll(async () => {
  await market.stop();
  await database.drop();
  await world.close();
});

async function deliver(contract: string, index: number, txHash: string): Promise<void> {
  const value = ['1', 'x', index, '1'];
  const event = { id: randomUUID(), contract, txHash, ledger: 1, data: { topics: ['0x'], value } };
  const body = JSON.stringify({ id: randomUUID(), event });
  const signature = createHmac('sha256', SECRET).update(body).digest('hex');
  await fetch(new URL('/api/hooks/retirements', market.url), {
    method: 'POST',
    body,
    headers: { 'x-service-signature': `sha256=${signature}` },
  });
}

it('stores the hash of the chain, not of the delivery', async () => {
  const { tokenAddress } = await openProject(market.app, 10n);
  const holder = await world.createHolder();
  await world.transferFromCustody(tokenAddress, holder.address, 3n * TONNE);
  const call: HolderCall = { kind: 'retire', tokenAddress, amount: TONNE, beneficiary: 'Acme', note: '' };
  const hashes: string[] = [];
  const retireOnce = async () => {
    const unsigned = await network.prepareForHolder(call, holder.address);
    const opened = await network.openSigned(call, unsigned, await holder.sign(unsigned));
    await network.broadcast(opened.signedBytes);
    await expect.poll(() => network.outcome(opened)).toMatchObject({ status: 'succeeded' });
    hashes.push(opened.hash);
  };
  const stored = async () => {
    const rows = await database.handle.db.select().from(retirementRecords).orderBy(retirementRecords.index);
    return rows.map(({ txHash }) => txHash);
  };
  await retireOnce();
  await deliver(tokenAddress, 0, `0x${'ab'.repeat(32)}`);
  await expect.poll(stored).toEqual(hashes);
  // A real transaction of the same token, but of another record.
  await retireOnce();
  await deliver(tokenAddress, 1, hashes[0] ?? '');
  await expect.poll(stored).toEqual(hashes);
});
