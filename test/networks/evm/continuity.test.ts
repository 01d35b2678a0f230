/**
 * A chain that goes back behind a final block, and a node that was restored from an older state: nothing is
 * read or signed through it, even after a restart of the platform. If it goes on as another chain, that is
 * reported.
 */
import { randomUUID } from 'node:crypto';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eq } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { finalLedger, submissions } from '../../../src/db/tables/index.ts';
import { describeNetwork } from '../../../src/ledger/network/continuity.ts';
import type { Check } from '../../../src/ledger/network/check.ts';
import { ChainReorganised, NetworkBehind, type LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { openSeenLedgers } from '../../../src/ledger/network/seenLedgers.ts';
import { checkLedger } from '../../../src/diagnostics/checkLedger.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { findRetirement } from '../../../src/resolvers/carbon/findRetirement.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { deployCarbon } from '../../../devnet/calls.ts';
import type { Anvil } from '../../../devnet/evm/anvil.ts';
import { startEvmTestbed, type EvmTestbed } from '../../support/evm/testbed.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { connectLedger } from '../../../devnet/ledgers.ts';
import { openProject, silentLog } from '../../../devnet/platform.ts';
import { holding, retirement } from '../../support/holding.ts';
import { runAsCommand } from '../../support/run/runAsCommand.ts';
import { acceptHistory } from '../../support/acceptHistory.ts';
import { PAUSED_CODE } from '../../support/evm/pausedCode.ts';
import { platformOn } from '../../support/platform.ts';
import { startEvmWorld, type EvmWorld } from '../../../devnet/evm/evmWorld.ts';

const latestOf = async (node: Pick<Anvil, 'rpc'>) => BigInt((await node.rpc('eth_blockNumber')) as string);

/** Mines blocks that differ from the earlier blocks with these numbers. */
async function mineOthers(node: Anvil, count: number): Promise<void> {
  await node.advanceTime(1000);
  await node.mine(count - 1);
}

/** One chain for all tests, whose adapters do not know its earlier history. */
let testbed: EvmTestbed;
beforeAll(async () => {
  testbed = await startEvmTestbed();
});
afterAll(() => testbed.close());
beforeEach(() => testbed.faulty.obey());

describe('a rollback below what was final', () => {
  it('is reported with both numbers, and as a rewritten chain once that has passed them', async () => {
    const network = await testbed.open();
    await testbed.anvil.mine(30);
    const { ledger: seen } = await network.status();
    expect(await network.continuity()).toEqual({ status: 'whole' });

    await testbed.anvil.rpc('anvil_rollback', [10]);
    const told = seen - 10n;
    const numbers = `final block is ${told}, but this platform has seen ${seen}: the node is behind`;
    await expect(network.status()).rejects.toThrow(numbers);
    await expect(network.draft(deployCarbon())).rejects.toThrow(NetworkBehind);
    await expect(network.continuity()).rejects.toThrow(NetworkBehind);

    await mineOthers(testbed.anvil, 20);
    expect((await network.status()).ledger).toBe(told + 20n);
    expect(await network.continuity()).toMatchObject({
      status: 'rewritten',
      message: expect.stringMatching(new RegExp(`^Block ${seen} was final as 0x.* is 0x.* now: .*rewritten`)),
    });
    await expect(network.draft(deployCarbon())).rejects.toThrow(ChainReorganised);
  });

  it('is whole again when the node shows the chain of before', async () => {
    const network = await testbed.open();
    await testbed.anvil.mine(5);
    const { ledger } = await network.status();
    const other = `0x${'ab'.repeat(32)}`;
    testbed.faulty.obey(({ method, params }) =>
      method === 'eth_getBlockByNumber' && params[0] === `0x${ledger.toString(16)}`
        ? { result: { number: params[0], hash: other, timestamp: '0x1', gasLimit: '0x1' } }
        : undefined,
    );
    await expect(network.draft(deployCarbon())).rejects.toThrow(other);
    testbed.faulty.obey();
    await network.draft(deployCarbon());
  });
});

describe('what one of several instances has seen final', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(() => database.drop());

  const open = async () =>
    testbed.open({
      finality: { confirmations: 0 },
      seenLedgers: await openSeenLedgers({ db: database.handle.db, log: silentLog }),
    });
  const stored = async () => (await database.handle.db.select().from(finalLedger))[0]?.ledger;
  // An adapter compares the ledgers that others have stored at its next status.
  const isStoredBy = async (network: LedgerNetwork) => {
    const { ledger } = await network.status();
    await expect.poll(async () => (await network.status()) && (await stored())).toBe(ledger);
    return ledger;
  };
  const statusOf = async (network: LedgerNetwork) => (await network.continuity()).status;

  it('is not forgotten when the others last looked before the chain was rewritten', async () => {
    const [one, other] = [await open(), await open()];
    await testbed.anvil.mine(5);
    const before = await isStoredBy(other);
    await testbed.anvil.mine(3);
    const ledger = await isStoredBy(one);
    expect(ledger).toBe(before + 3n);

    await testbed.anvil.rpc('anvil_rollback', [2]);
    await mineOthers(testbed.anvil, 10);
    // The adapter still has the ledger that it saw itself.
    await other.status();
    await expect.poll(() => statusOf(other)).toBe('rewritten');
    expect(await statusOf(one)).toBe('rewritten');
    expect(await stored()).toBe(ledger);

    await acceptHistory(database.handle.db, other);
    expect(await statusOf(other)).toBe('whole');
    expect(await statusOf(one)).toBe('whole');
    await testbed.anvil.mine();
    await isStoredBy(one);
  });

  it('is what each of them names as gone, so that none takes the reason of another for a new one', async () => {
    const [one, other] = [await open(), await open()];
    await testbed.anvil.mine(5);
    await isStoredBy(other);
    await testbed.anvil.mine(3);
    const ledger = await isStoredBy(one);

    await testbed.anvil.rpc('anvil_rollback', [6]);
    await mineOthers(testbed.anvil, 10);
    const gone = { status: 'rewritten', message: expect.stringMatching(`^Block ${ledger} was final as`) };
    expect(await one.continuity()).toEqual(gone);
    expect(await other.continuity()).toEqual(await one.continuity());
  });
});

describe('a node that is still syncing', () => {
  it('gets nothing signed or given up, since the numbers that it calls unused may be used by then', async () => {
    const answers = (answer: { result: unknown } | { error: { code: number; message: string } }) =>
      testbed.faulty.obey(({ method }) => (method === 'eth_syncing' ? answer : undefined));
    const network = await testbed.open();
    answers({ result: { startingBlock: '0x0', currentBlock: '0x10', highestBlock: '0x1f4' } });
    await expect(network.nextSequences()).rejects.toThrow(
      'The node is still syncing (at block 16 of 500): nothing is signed',
    );
    // Some chains answer like this.
    answers({ result: { messageOfLastBlock: 7 } });
    await expect(network.nextSequences()).rejects.toThrow('The node is still syncing: nothing');
    // An error of the node says nothing about syncing.
    answers({ error: { code: -32000, message: 'header not found' } });
    await expect(network.nextSequences()).rejects.toThrow('header not found');
    answers({ error: { code: -32601, message: 'the method eth_syncing does not exist' } });
    await network.nextSequences();
    await network.draft(deployCarbon());
  });
});

describe('a node that does not say what waits', () => {
  it('has nothing waiting where it does not keep that, and gets nothing signed while it is only too busy', async () => {
    const answers = (error: { code: number; message: string }) =>
      testbed.faulty.obey(({ params }) => (params[1] === 'pending' ? { error } : undefined));
    const network = await testbed.open();
    answers({ code: -32602, message: 'unknown block tag' });
    expect(await network.nextSequences('waiting')).toEqual(await network.nextSequences());
    answers({ code: -32005, message: 'rate limit exceeded' });
    await expect(network.nextSequences('waiting')).rejects.toThrow('rate limit exceeded');
    // An internal error is trouble too when the node has answered this before.
    testbed.faulty.obey(() => undefined);
    await network.nextSequences('waiting');
    answers({ code: -32603, message: 'internal error' });
    await expect(network.nextSequences('waiting')).rejects.toThrow('internal error');
  });

  it('counts what waits behind a gap, in either spelling of nonces, once it has shown that', async () => {
    type Told = { result: unknown } | { error: { code: number; message: string } };
    const answers = (told: Told) =>
      testbed.faulty.obey(({ method }) => (method === 'txpool_contentFrom' ? told : undefined));
    const [latest = 0n] = (await (await testbed.open()).nextSequences()).values();
    const waiting = async (network: LedgerNetwork) => [...(await network.nextSequences('waiting')).values()];
    for (const refusal of ['Method not found', 'this plan has no access']) {
      answers({ error: { code: -32000, message: refusal } });
      expect(await waiting(await testbed.open())).toEqual([latest]);
    }
    answers({ result: { pending: {}, queued: { nothing: {} } } });
    expect(await waiting(await testbed.open())).toEqual([latest]);
    answers({ error: { code: -32005, message: 'rate limit exceeded' } });
    const network = await testbed.open();
    await expect(waiting(network)).rejects.toThrow('rate limit exceeded');
    answers({ result: { pending: {}, queued: { [String(latest + 2n)]: {} } } });
    expect(await waiting(network)).toEqual([latest + 3n]);
    answers({ result: { pending: { [`0x${(latest + 4n).toString(16)}`]: {} }, queued: {} } });
    expect(await waiting(network)).toEqual([latest + 5n]);
    // Another node behind the same address may lack the method; one that has it may only be in trouble.
    answers({ error: { code: -32601, message: 'Method not found' } });
    expect(await waiting(network)).toEqual([latest]);
    answers({ error: { code: -32603, message: 'internal error' } });
    await expect(waiting(network)).rejects.toThrow('internal error');
    testbed.faulty.obey(() => undefined);
  });
});

describe('a node that was restored from an older state', () => {
  let folder: string;
  let world: EvmWorld;
  let database: TestDatabase;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'older-state-'));
    world = await startEvmWorld({ stateFile: join(folder, 'state.json') });
    database = await createTestDatabase();
  });
  afterAll(async () => {
    await database.drop();
    await world.close();
    await rm(folder, { recursive: true, force: true });
  });

  const settings = () => ({
    DATABASE_URL: database.url,
    LEDGER_NETWORK: 'evm',
    LEDGER_RPC_URL: world.ledger.rpcUrl,
    LEDGER_CHAIN_ID: String(world.ledger.chainId),
    LEDGER_SECRET_KEY: world.ledger.secretKey,
    LEDGER_FACTORY_ADDRESS: world.ledger.factoryAddress,
    LEDGER_FINALITY: '0',
  });
  const look = async (): Promise<Check[]> => {
    const config = await loadConfig({ ...settings(), DATA_DIR: folder });
    const found: Check[] = [];
    for await (const check of checkLedger(config, silentLog)) found.push(check);
    return found;
  };
  const history = async () => (await look()).find(({ name }) => name === 'history');

  it('is recognised after a restart of the platform, by readiness and by ledger:check', async () => {
    const { node } = world;
    const before = await connectLedger(world.ledger, database.handle);
    await node.stop();
    await copyFile(join(folder, 'state.json'), join(folder, 'older.json'));
    await node.start();
    await node.mine(25);
    const { ledger: seen } = await before.status();
    await expect.poll(() => database.handle.db.select().from(finalLedger)).toMatchObject([{ ledger: seen }]);
    expect(await history()).toMatchObject({ result: 'pass' });

    await node.crash();
    await copyFile(join(folder, 'older.json'), join(folder, 'state.json'));
    await node.start();
    const told = await latestOf(node);
    expect(told).toBe(seen - 25n);

    // The new adapter acts as another process: it knows the chain from the database only.
    const after: LedgerNetwork = await connectLedger(world.ledger, database.handle);
    const numbers = `final block is ${told}, but this platform has seen ${seen}`;
    await expect(after.status()).rejects.toThrow(numbers);
    await expect(after.draft(deployCarbon())).rejects.toThrow(NetworkBehind);
    expect(await describeNetwork(after)).toContain(numbers);
    expect(await history()).toMatchObject({
      result: 'fail',
      found: expect.stringContaining(numbers),
      remedy: expect.stringContaining('LEDGER_RPC_URL'),
    });

    await mineOthers(node, 40);
    const [{ hash } = { hash: '' }] = await database.handle.db.select().from(finalLedger);
    const rewritten = `Block ${seen} was final as ${hash}, and is 0x`;
    expect(await describeNetwork(after)).toContain('asked again before that is believed');
    expect(await history()).toMatchObject({
      result: 'fail',
      found: expect.stringContaining(rewritten),
      remedy: expect.stringContaining('resumeSigning'),
    });
    // The command waits until it believes the other block. Otherwise it would get no answer and prove
    // nothing.
    const { out } = await runAsCommand('src/cli/reconcile.ts', settings());
    expect(out).toContain('0 projects and 0 receipts reconciled');
    expect(await describeNetwork(after)).toContain(rewritten);
    const another = await connectLedger(world.ledger, database.handle);
    const drafting = () => another.draft(deployCarbon()).catch((error: unknown) => error);
    await expect.poll(drafting, { timeout: 30_000, interval: 1_000 }).toBeInstanceOf(ChainReorganised);

    await acceptHistory(database.handle.db, after);
    expect(await describeNetwork(after)).toBe('ok');
    // Other instances learn which history one instance accepted.
    expect(await describeNetwork(another)).toBe('ok');
    expect(await history()).toMatchObject({ result: 'pass' });
  });
});

describe('signing on a rewritten chain', () => {
  it('halts, and goes on once books and network are seen to agree', async () => {
    const world = await startEvmWorld({ ledger: { reorgConfirmedAfterMs: 1_000 } });
    const database = await createTestDatabase();
    const errors: string[] = [];
    const log = Object.assign(Object.create(silentLog) as typeof silentLog, {
      error: (_: unknown, message: string) => void errors.push(message),
    });
    const platform = await platformOn(database.handle, await connectLedger(world.ledger, database.handle), {
      log,
    });
    try {
      const { dependencies } = platform;
      await platform.start();
      const { tokenAddress } = await openProject(platform, 100n);
      const bought = { buyerId: 'acme', tokenAddress, amountCO2e: 100n, idempotencyKey: randomUUID() };
      await purchase(dependencies, 'acme', bought);
      await world.node.mine(10);
      await dependencies.network.status();
      await world.node.rpc('anvil_rollback', [5]);
      await mineOthers(world.node, 10);
      dependencies.mutationWaitMs = 0;
      const { id } = await retire(dependencies, 'acme', {
        ...bought,
        buyerName: 'Acme Ltd',
        note: '',
        idempotencyKey: randomUUID(),
      });
      await expect
        .poll(() => findRetirement(dependencies, id), { timeout: 30_000 })
        .toMatchObject({ state: 'RETIRED' });
      expect(errors).toContainEqual(expect.stringMatching(/signing stops: Block \d+ was final as/));
      expect(await dependencies.network.continuity()).toEqual({ status: 'whole' });
      expect((await dependencies.network.carbonTotals(tokenAddress)).totalRetirements).toBe(1);
    } finally {
      await platform.stop();
      await database.drop();
      await world.close();
    }
  });

  it('believes no refusal of such a chain before its history is accepted', async () => {
    const world = await startEvmWorld({ ledger: { reorgConfirmedAfterMs: 1_000 } });
    const database = await createTestDatabase();
    const platform = await platformOn(database.handle, await connectLedger(world.ledger, database.handle));
    const { db } = database.handle;
    try {
      const { dependencies } = platform;
      await platform.start();
      const tokenAddress = await holding(platform, 100n);
      await world.node.mine(10);
      await dependencies.network.status();
      dependencies.mutationWaitMs = 0;
      await world.node.rpc('evm_setAutomine', [false]);
      const { id } = await retire(dependencies, 'acme', retirement(tokenAddress, 30n));
      await expect.poll(() => world.node.rpc('txpool_status', [])).toMatchObject({ pending: '0x1' });
      // The transaction lands on another branch during a pause.
      const code = await world.node.rpc('eth_getCode', [tokenAddress, 'latest']);
      await world.node.rpc('anvil_rollback', [5]);
      await world.node.rpc('anvil_setCode', [tokenAddress, PAUSED_CODE]);
      await mineOthers(world.node, 10);
      await world.node.rpc('anvil_setCode', [tokenAddress, code]);

      const submission = async () =>
        (await db.select().from(submissions).where(eq(submissions.targetId, id)))[0];
      await expect.poll(submission).toMatchObject({ stateReason: expect.stringContaining('refused') });
      expect(await submission()).toMatchObject({
        state: 'PENDING',
        stateReason: expect.stringMatching(/^0x.* is refused in block \d+.* Block \d+ was final as/),
      });
      await acceptHistory(db, dependencies.network);
      await expect.poll(submission, { timeout: 20_000 }).toMatchObject({ state: 'REFUSED' });
    } finally {
      await platform.stop();
      await database.drop();
      await world.close();
    }
  });
});
