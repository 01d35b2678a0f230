/**
 * Landing under the ledger clock's lock: a batch executes on the state that the batch before it has
 * committed.
 */
import { randomBytes } from 'node:crypto';
import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createEmbeddedNetwork } from '../../../src/ledger/network/embedded/network.ts';
import { ledgerClock, tokens, transactions } from '../../../src/ledger/network/embedded/tables.ts';
import type { BroadcastAnswer, Outcome } from '../../../src/ledger/network/port.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { generateSecretKey } from '../../../src/lib/strkey.ts';
import { TONNE, mintedCarbon, prepare, retire } from '../../../devnet/calls.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { hasLockWait } from '../../support/database/lockWaits.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

it('executes on what was committed while the lock was waited for', async () => {
  const { handle } = database;
  const secretKey = generateSecretKey(randomBytes);
  const network = await createEmbeddedNetwork({ handle, secretKey, clock: systemClock, randomBytes });
  const tokenAddress = await mintedCarbon(network, 5n);
  const burn = await prepare(network, retire(tokenAddress, TONNE));
  let answer: Promise<BroadcastAnswer> | undefined;
  await handle.db.transaction(async (tx) => {
    await tx.select().from(ledgerClock).for('update');
    answer = network.broadcast(burn.signedBytes);
    // Shorter than the time after which PostgreSQL ends the transaction that holds the lock.
    await expect.poll(() => hasLockWait(handle), { timeout: 5_000 }).toBe(true);
    await tx.update(tokens).set({ paused: true }).where(eq(tokens.address, tokenAddress));
  });
  expect(await answer).toEqual({ status: 'accepted' });
  expect(await network.outcome(burn)).toMatchObject({ status: 'refused' });
});

it('calls nothing dead that landed while the lock was waited for', async () => {
  const { handle } = database;
  const secretKey = generateSecretKey(randomBytes);
  const network = await createEmbeddedNetwork({ handle, secretKey, clock: systemClock, randomBytes });
  const burn = await prepare(network, retire(await mintedCarbon(network, 5n), TONNE));
  // By this instance's clock, the burn can't land any more.
  const clock = { now: () => new Date(Date.now() + 3_600_000) };
  const late = await createEmbeddedNetwork({ handle, secretKey, clock, randomBytes });
  let outcome: Promise<Outcome> | undefined;
  await handle.db.transaction(async (tx) => {
    const [latest] = await tx.select().from(ledgerClock).for('update');
    const { hash, signedBytes } = burn;
    const result = { kind: 'retired', retirementIndex: 0 } as const;
    await tx.insert(transactions).values({ hash, signedBytes, ledger: latest?.sequence ?? 0n, result });
    outcome = late.outcome(burn);
    await expect.poll(() => hasLockWait(handle), { timeout: 5_000 }).toBe(true);
  });
  expect(await outcome).toMatchObject({ status: 'succeeded', result: { kind: 'retired' } });
});
