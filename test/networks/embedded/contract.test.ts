/**
 * The embedded network: the port's contract, and the promises that only this network makes.
 */
import { randomBytes } from 'node:crypto';
import { eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { openDatabase } from '../../../src/db/connection.ts';
import { hashText } from '../../../src/ledger/network/embedded/addresses.ts';
import { createEmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import { addressOfSecretKey, generateSecretKey, keypairOf } from '../../../src/lib/strkey.ts';
import { events, transactions } from '../../../src/ledger/network/embedded/tables.ts';
import { openTransaction, signTransaction } from '../../../src/ledger/network/embedded/signing.ts';
import { NetworkUnavailable } from '../../../src/ledger/network/port.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import type { TestDatabase } from '../../support/database/database.ts';
import {
  TONNE,
  deploy,
  deployCarbon,
  land,
  mintedCarbon,
  prepare,
  refusalOf,
  retire,
} from '../../../devnet/calls.ts';
import { describeLedgerNetwork } from '../suite/network.ts';

const traits = { bytesExpire: true, addressesArePredicted: true };

describeLedgerNetwork('embedded', traits, async () => {
  const database = await createTestDatabase();
  const otherHandle = openDatabase({ url: database.url, poolSize: 5, applicationName: 'twin' });
  const secretKey = generateSecretKey(randomBytes);
  const common = { clock: systemClock, randomBytes };
  // Both create the network at the same time, like two processes at a first start.
  const [network, twin] = await Promise.all([
    createEmbeddedNetwork({ ...common, handle: database.handle, secretKey }),
    createEmbeddedNetwork({ ...common, handle: otherHandle, secretKey }),
  ]);
  const stranger = await createEmbeddedNetwork({
    ...common,
    handle: database.handle,
    secretKey: generateSecretKey(randomBytes),
    settlementAddress: (await network.settlementContract())?.address,
  });
  return {
    network,
    twin,
    stranger,
    freshAddress: () => addressOfSecretKey(generateSecretKey(randomBytes)),
    advanceClock: async (seconds) => void (await network.advanceClock(seconds)),
    setPaused: async (address, paused) => void (await network.pauseToken(address, paused)),
    close: async () => {
      await otherHandle.close();
      await database.drop();
    },
  };
});

describe('the embedded network', () => {
  let database: TestDatabase;
  const secretKey = generateSecretKey(randomBytes);
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  function open(options: { clock?: Clock; key?: string } = {}): Promise<EmbeddedNetwork> {
    const { clock = systemClock, key = secretKey } = options;
    return createEmbeddedNetwork({ handle: database.handle, secretKey: key, clock, randomBytes });
  }

  it('remembers everything: a later instance finds tokens, outcomes, identity and time', async () => {
    const before = await open();
    const tokenAddress = await mintedCarbon(before, 5n);
    const prepared = await prepare(before, retire(tokenAddress, TONNE));
    await before.broadcast(prepared.signedBytes);
    const closedAt = await before.advanceClock(500);
    const after = await open();
    expect(after.networkId).toBe(before.networkId);
    expect(await after.outcome(prepared)).toMatchObject({ status: 'succeeded' });
    expect(await after.balanceOf(tokenAddress, after.custodyAddress)).toBe(4n * TONNE);
    expect((await after.status()).closedAt).toBeGreaterThanOrEqual(closedAt);
  });

  it('keeps its time when an instance’s clock is behind, and dead bytes stay dead there too', async () => {
    const network = await open();
    const slow = await open({ clock: { now: () => new Date(Date.now() - 3_600_000) } });
    const tokenAddress = await mintedCarbon(network, 5n);
    const prepared = await prepare(slow, retire(tokenAddress, TONNE));
    await network.advanceClock(3700);
    expect((await network.outcome(prepared)).status).toBe('dead');
    expect((await slow.status()).closedAt).toBeGreaterThan(prepared.validUntil ?? 0n);
    expect(await slow.broadcast(prepared.signedBytes)).toMatchObject({ status: 'refused' });
    await expect(network.advanceClock(-1)).rejects.toThrow(RangeError);
  });

  it('gives each signer a settlement contract of their own, with them as treasury', async () => {
    const network = await open();
    const other = await open({ key: generateSecretKey(randomBytes) });
    expect((await network.settlementContract())?.treasury).toBe(network.custodyAddress);
    expect((await other.settlementContract())?.treasury).toBe(other.custodyAddress);
    const elsewhere = await createEmbeddedNetwork({
      handle: database.handle,
      secretKey,
      clock: systemClock,
      randomBytes,
      settlementAddress: network.factoryAddress,
    });
    expect(await elsewhere.settlementContract()).toBeNull();
  });

  it('lets a foreign wallet receive, transfer and retire with its own key', async () => {
    const network = await open();
    const tokenAddress = await mintedCarbon(network, 5n);
    const wallet = network.createSigner(generateSecretKey(randomBytes));
    await network.transfer(tokenAddress, wallet.address, 3n * TONNE);
    const call = { tokenAddress, amount: TONNE, beneficiary: 'Wallet Ltd', note: 'own key' };
    const hash = await wallet.retire(call);
    await wallet.transfer({ tokenAddress, to: network.custodyAddress, amount: TONNE });
    expect(await network.balanceOf(tokenAddress, wallet.address)).toBe(TONNE);
    const short = await refusalOf(wallet.retire({ ...call, amount: 2n * TONNE }));
    expect(short.reason).toBe('INSUFFICIENT_BALANCE');
    const { records } = await network.retirementRecords(tokenAddress, 0, 10);
    expect(records.map((record) => record.retiredBy)).toEqual([wallet.address]);
    const [row] = await database.handle.db.select().from(transactions).where(eq(transactions.hash, hash));
    expect(openTransaction(row?.signedBytes ?? new Uint8Array(), network.networkId)).toMatchObject({
      hash,
      transaction: { source: wallet.address, invocation: { kind: 'retire' } },
    });
  });

  it('publishes each landed effect as one positional event, and nothing for refusals', async () => {
    const network = await open();
    const call = deployCarbon();
    const tokenAddress = await deploy(network, call);
    await land(network, { kind: 'mint', tokenAddress, to: network.custodyAddress, amount: TONNE });
    const both = [
      await prepare(network, retire(tokenAddress, TONNE)),
      await prepare(network, retire(tokenAddress, TONNE)),
    ];
    for (const prepared of both) await network.broadcast(prepared.signedBytes);
    const { db } = database.handle;
    const [deployed] = await db
      .select()
      .from(events)
      .where(sql`data->'value'->>0 = ${tokenAddress}`);
    expect(deployed).toMatchObject({
      contract: network.factoryAddress,
      eventType: 'deployed',
      data: {
        topics: ['CarbonCredit'],
        value: [tokenAddress, network.custodyAddress, hashText(call.assetId), 'ID'],
      },
    });
    const published = await db.select().from(events).where(eq(events.contract, tokenAddress));
    expect(published.map((event) => event.eventType)).toEqual(['mint', 'retired']);
    const { records } = await network.retirementRecords(tokenAddress, 0, 1);
    expect(published[1]).toMatchObject({
      txHash: both[0]?.hash,
      timestamp: records[0]?.timestamp,
      data: {
        topics: [network.custodyAddress],
        value: [String(TONNE), 'Ünïted Øil 🌍', 0, String(records[0]?.timestamp)],
      },
    });
    expect(published[1]?.id).toMatch(/^\d{19}-\d{10}$/);
  });

  it('refuses transactions of another network, and a second spelling of the same transaction', async () => {
    const network = await open();
    const tokenAddress = await mintedCarbon(network, 5n);
    const keypair = keypairOf(secretKey);
    const transaction = {
      networkId: 'embedded-elsewhere',
      source: keypair.address,
      nonce: randomBytes(16).toString('hex'),
      validUntil: (await network.status()).closedAt + 60n,
      invocation: retire(tokenAddress, TONNE) as Extract<ReturnType<typeof retire>, { kind: 'retire' }>,
    };
    const foreign = signTransaction(transaction, keypair);
    expect(await network.broadcast(foreign.signedBytes)).toEqual({
      status: 'refused',
      reason: 'made for the network embedded-elsewhere',
    });
    const own = signTransaction({ ...transaction, networkId: network.networkId }, keypair);
    const payload = Buffer.from(own.signedBytes.subarray(64)).toString('utf8');
    const respelled = Buffer.from(payload.replace('{', '{ '), 'utf8');
    const answer = await network.broadcast(Buffer.concat([keypair.sign(respelled), respelled]));
    expect(answer).toEqual({ status: 'refused', reason: 'not in canonical form' });
    const forged = Buffer.concat([
      keypairOf(generateSecretKey(randomBytes)).sign(Buffer.from(payload)),
      Buffer.from(payload),
    ]);
    expect(await network.broadcast(forged)).toEqual({ status: 'refused', reason: 'bad signature' });
    expect(await network.broadcast(own.signedBytes)).toEqual({ status: 'accepted' });
  });

  it('refuses arguments that the contracts could not store', async () => {
    const network = await open();
    const tokenAddress = await mintedCarbon(network, 5n);
    const to = network.custodyAddress;
    const bad = [
      { ...deployCarbon(), name: 'a\u0000b' },
      { ...deployCarbon(), symbol: '\ud800' },
      { ...deployCarbon(), name: 'x'.repeat(20_000) },
      { ...deployCarbon(), salt: '0x12' },
      { kind: 'mint', tokenAddress, to: 'no-address', amount: 1n },
      { kind: 'mint', tokenAddress, to: generateSecretKey(randomBytes), amount: 1n },
      { kind: 'mint', tokenAddress, to, amount: 2n ** 127n },
      { kind: 'mint', tokenAddress, to, amount: 2n ** 127n - 1n },
    ] as const;
    for (const call of bad) expect((await refusalOf(prepare(network, call))).reason).toBe('OTHER');
    expect(await network.totalSupply(tokenAddress)).toBe(5n * TONNE);
  });

  it('knows nothing of attempts that are newer than its history', async () => {
    const network = await open();
    const prepared = await prepare(network, deployCarbon());
    const lost = { ...prepared, preparedAtLedger: prepared.preparedAtLedger + 1_000_000n };
    expect((await network.outcome(lost)).status).toBe('undeterminable');
  });

  it('holds its rules in the database itself', async () => {
    const { sql: query } = database.handle;
    const network = await open();
    await land(network, retire(await mintedCarbon(network, 1n), TONNE));
    const statements = [
      `UPDATE embedded_network.retirements SET amount = 1`,
      `DELETE FROM embedded_network.transactions`,
      `TRUNCATE embedded_network.events`,
      `UPDATE embedded_network.events SET event_type = 'x'`,
      `UPDATE embedded_network.balances SET amount = -1`,
      `UPDATE embedded_network.tokens SET total_supply = 2::numeric ^ 127`,
      `UPDATE embedded_network.ledger_clock SET closed_at = closed_at - 1`,
      `UPDATE embedded_network.ledger_clock SET network_id = 'other'`,
    ];
    for (const statement of statements) {
      await expect(query.unsafe(statement)).rejects.toThrow(/refuses this|violates check/);
    }
  });

  it('lands the rest of a batch when the database refuses one of it', async () => {
    const network = await open();
    const tokenAddress = await mintedCarbon(network, 20n);
    await database.handle.sql.unsafe(`
      CREATE TRIGGER refuse_poison BEFORE INSERT ON embedded_network.retirements
      FOR EACH ROW WHEN (NEW.note = 'poison') EXECUTE FUNCTION embedded_network.refuse_change()`);
    const notes = Array.from({ length: 10 }, (_, at) => (at === 4 ? 'poison' : `#${at}`));
    const sent = await Promise.all(notes.map((note) => prepare(network, retire(tokenAddress, TONNE, note))));
    const answers = await Promise.all(sent.map((prepared) => network.broadcast(prepared.signedBytes)));
    expect(answers.map((answer) => answer.status)).toEqual(
      notes.map((note) => (note === 'poison' ? 'unknown' : 'accepted')),
    );
    // The error contains the cause, without the statement and its values.
    expect(answers[4]).toEqual({ status: 'unknown', reason: 'retirements refuses this INSERT' });
    expect((await network.carbonTotals(tokenAddress)).totalRetirements).toBe(9);
    await database.handle.sql.unsafe('DROP TRIGGER refuse_poison ON embedded_network.retirements');
    expect(await network.broadcast(sent[4]?.signedBytes ?? new Uint8Array())).toEqual({ status: 'accepted' });
    expect((await network.carbonTotals(tokenAddress)).totalRetirements).toBe(10);
  });

  it('says that it is unavailable, never that something failed, when its database is gone', async () => {
    const handle = openDatabase({ url: database.url, poolSize: 2, applicationName: 'gone' });
    const network = await createEmbeddedNetwork({ handle, secretKey, clock: systemClock, randomBytes });
    const prepared = await prepare(network, deployCarbon());
    await handle.close();
    expect(await network.broadcast(prepared.signedBytes)).toMatchObject({ status: 'unknown' });
    await expect(network.outcome(prepared)).rejects.toThrow(NetworkUnavailable);
    await expect(network.status()).rejects.toThrow(NetworkUnavailable);
    await expect(prepare(network, deployCarbon())).rejects.toThrow(NetworkUnavailable);
    // Another instance settles the transaction that this one could not.
    const other = await open();
    expect(await other.outcome(prepared)).toEqual({ status: 'pending' });
    expect(await other.broadcast(prepared.signedBytes)).toEqual({ status: 'accepted' });
  });
});
