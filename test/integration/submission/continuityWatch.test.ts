/**
 * Findings about the network's history while nothing is to be signed.
 */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { signingAccounts } from '../../../src/db/tables/index.ts';
import { createContinuityWatch } from '../../../src/ledger/submission/continuityWatch.ts';
import type { LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { reviewWorld } from '../../support/reviews.ts';

const { deps, handle, network } = reviewWorld();

const address = `0x${'e'.repeat(40)}`;
const POLL_MS = 20;
let sequence: bigint;
let watch: ReturnType<typeof createContinuityWatch>;
beforeEach(() => {
  sequence = 7n;
  const numbered: LedgerNetwork = {
    ...network(),
    signingOrder: { accounts: [address], maxOpenPerAccount: 4 },
    nextSequences: async () => new Map([[address, sequence]]),
  };
  watch = createContinuityWatch({ ...deps(), network: numbered }, POLL_MS);
  watch.start();
});
afterEach(() => watch.stop());

const account = async () => (await handle().db.select().from(signingAccounts))[0];

it('notes the sequences of a new database, so that a copy of it is known as one', async () => {
  await expect.poll(account).toMatchObject({ nextSequence: 7n, haltedBecause: null });
  sequence = 8n;
  await expect.poll(async () => (await account())?.haltedBecause).toContain('the network expects sequence 8');
});
