/**
 * Faults of chains, through the whole of submission: whatever happens to transactions, each retirement is
 * burned once.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { asc, eq } from 'drizzle-orm';
import { parseTransaction } from 'viem';
import { afterEach, describe, expect, it } from 'vitest';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { attempts, submissions } from '../../../src/db/tables/index.ts';
import { findRetirement, type Retirement } from '../../../src/resolvers/carbon/findRetirement.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { connectLedger } from '../../../devnet/ledgers.ts';
import { openProject } from '../../../devnet/platform.ts';
import { platformOn } from '../../support/platform.ts';
import { startEvmWorld, type EvmWorld, type EvmWorldOptions } from '../../../devnet/evm/evmWorld.ts';
import { retirement } from '../../support/holding.ts';

const PATIENCE_MS = 40_000;

interface Run {
  world: EvmWorld;
  database: TestDatabase;
  platform: Platform;
  tokenAddress: string;
}

let runs: Run[] = [];
afterEach(async () => {
  for (const { world, database, platform } of runs) {
    await platform.stop();
    await database.drop();
    await world.close();
  }
  runs = [];
});

/** A buyer holds a hundred tonnes. Mutations don't wait, because the tests act before they are done. */
async function startRun(options: EvmWorldOptions = {}): Promise<Run> {
  const world = await startEvmWorld(options);
  const database = await createTestDatabase();
  const network = await connectLedger(world.ledger, database.handle);
  const platform = await platformOn(database.handle, network);
  await platform.start();
  const { tokenAddress } = await openProject(platform, 100n);
  const { dependencies } = platform;
  const input = { buyerId: 'acme', tokenAddress, amountCO2e: 100n, idempotencyKey: randomUUID() };
  await purchase(dependencies, 'acme', input);
  dependencies.mutationWaitMs = 0;
  const made = { world, database, platform, tokenAddress };
  runs.push(made);
  return made;
}

function begin({ platform, tokenAddress }: Run, amountCO2e: bigint): Promise<Retirement> {
  return retire(platform.dependencies, 'acme', retirement(tokenAddress, amountCO2e));
}

async function attemptsOf({ database }: Run, retirement: Retirement) {
  return database.handle.db
    .select({
      hash: attempts.hash,
      state: attempts.state,
      sequence: attempts.sequence,
      bytes: attempts.signedBytes,
    })
    .from(attempts)
    .innerJoin(submissions, eq(submissions.id, attempts.submissionId))
    .where(eq(submissions.targetId, retirement.id))
    .orderBy(asc(attempts.number));
}

/** Waits until `look` returns a value. */
async function until<T>(what: string, look: () => Promise<T | null | undefined | false>): Promise<T> {
  const giveUpMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const seen = await look();
    if (seen !== null && seen !== undefined && seen !== false) return seen;
    if (performance.now() > giveUpMs) throw new Error(`waited in vain until ${what}`);
    await delay(150);
  }
}

const isKnown = ({ world }: Run, hash: string) =>
  world.node.rpc('eth_getTransactionByHash', [hash]).then((found) => found !== null);

/**
 * Waits until the transaction is sent, and sent again at a higher fee because the base fee has risen.
 * @returns its attempts
 */
async function replaced(at: Run, begun: Retirement) {
  const { node } = at.world;
  await until('it is sent', async () => {
    const [one] = await attemptsOf(at, begun);
    return one !== undefined && isKnown(at, one.hash);
  });
  // Ten times the transaction's highest fee.
  for (let block = 0; block < 4; block++) {
    await node.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${(60n * 10n ** 9n).toString(16)}`]);
    await node.mine();
  }
  return until('it is replaced', async () => {
    const all = await attemptsOf(at, begun);
    return all.length > 1 && (await isKnown(at, all.at(-1)?.hash ?? '')) && all;
  });
}

async function retired(at: Run, ...begun: Retirement[]): Promise<void> {
  for (const { id } of begun) {
    await until(`${id} is retired`, async () => {
      const retirement = await findRetirement(at.platform.dependencies, id);
      if (retirement?.state === 'PENDING') return null;
      expect(retirement?.state).toBe('RETIRED');
      return true;
    });
  }
  const { network } = at.platform.dependencies;
  const { totalRetirements } = await network.carbonTotals(at.tokenAddress);
  expect(totalRetirements).toBe(begun.length);
  expect(await reconcileAll(at.platform.dependencies)).toMatchObject({ findings: [], unsettledProjects: 0 });
}

describe('on a real EVM chain', () => {
  it('waits for blocks as long as it takes, and sends many behind each other meanwhile', async () => {
    const at = await startRun();
    await at.world.node.rpc('evm_setAutomine', [false]);
    const begun = await Promise.all(Array.from({ length: 10 }, () => begin(at, 1n)));
    const hashes = await until('all are sent', async () => {
      const sent = (await Promise.all(begun.map((one) => attemptsOf(at, one)))).flat();
      const known = await Promise.all(sent.map(({ hash }) => isKnown(at, hash)));
      return sent.length === 10 && known.every(Boolean) && sent;
    });
    const nonces = hashes.map(({ sequence }) => Number(sequence)).sort((a, b) => a - b);
    expect(nonces).toEqual(Array.from({ length: 10 }, (_, place) => (nonces[0] ?? 0) + place));
    await at.world.node.mine();
    await retired(at, ...begun);
  });

  it('sends again what the node has dropped, and with it what waited behind the gap', async () => {
    const at = await startRun();
    await at.world.node.rpc('evm_setAutomine', [false]);
    const begun = [await begin(at, 1n), await begin(at, 2n), await begin(at, 3n)];
    const sent = await until('all are sent', async () => {
      const all = (await Promise.all(begun.map((one) => attemptsOf(at, one)))).flat();
      return (
        all.length === 3 &&
        (await Promise.all(all.map(({ hash }) => isKnown(at, hash)))).every(Boolean) &&
        all
      );
    });
    const first = sent.sort((a, b) => Number((a.sequence ?? 0n) - (b.sequence ?? 0n)))[0];
    await at.world.node.rpc('anvil_dropTransaction', [first?.hash]);
    // This node also drops what it held back behind the transaction.
    await until('all are sent again', async () =>
      (await Promise.all(sent.map(({ hash }) => isKnown(at, hash)))).every(Boolean),
    );
    await at.world.node.mine();
    await retired(at, ...begun);
    for (const one of begun) expect(await attemptsOf(at, one)).toHaveLength(1);
  });

  it('pays more in the same slot when fees rise, and burns once', async () => {
    const at = await startRun();
    const { node } = at.world;
    await node.rpc('evm_setAutomine', [false]);
    const begun = await begin(at, 5n);
    const bids = await replaced(at, begun);
    expect(new Set(bids.map(({ sequence }) => sequence)).size).toBe(1);
    await node.rpc('anvil_setNextBlockBaseFeePerGas', ['0x1']);
    await node.mine();
    await retired(at, begun);
    const decided = await attemptsOf(at, begun);
    expect(decided.filter(({ state }) => state === 'LANDED')).toHaveLength(1);
    expect(decided.filter(({ state }) => state === 'DEAD')).toHaveLength(decided.length - 1);
  });

  it('sends the bytes of before again when custody can’t pay more for them by then', async () => {
    const at = await startRun();
    const { node } = at.world;
    await node.rpc('evm_setAutomine', [false]);
    const begun = await begin(at, 5n);
    const bids = await replaced(at, begun);
    const { gas = 0n, maxFeePerGas = 0n } = parseTransaction(
      `0x${Buffer.from(bids[0]?.bytes ?? new Uint8Array()).toString('hex')}`,
    );
    const { custodyAddress } = at.platform.dependencies.network;
    await node.rpc('anvil_setBalance', [custodyAddress, `0x${(gas * maxFeePerGas).toString(16)}`]);
    for (const { hash } of bids) await node.rpc('anvil_dropTransaction', [hash]);
    await until('it is in a block', async () => {
      await node.rpc('anvil_setNextBlockBaseFeePerGas', ['0x1']);
      await node.mine();
      return node.rpc('eth_getTransactionReceipt', [bids[0]?.hash]);
    });
    await retired(at, begun);
    const landed = (await attemptsOf(at, begun)).filter(({ state }) => state === 'LANDED');
    expect(landed.map(({ hash }) => hash)).toEqual([bids[0]?.hash]);
  });

  it('says why while custody can’t pay for all that it has signed, and goes on when it is funded', async () => {
    const at = await startRun();
    const { node } = at.world;
    await node.rpc('evm_setAutomine', [false]);
    const begun = await Promise.all(Array.from({ length: 6 }, () => begin(at, 1n)));
    await until('all are sent', async () => {
      const sent = (await Promise.all(begun.map((one) => attemptsOf(at, one)))).flat();
      const known = await Promise.all(sent.map(({ hash }) => isKnown(at, hash)));
      return sent.length === 6 && known.every(Boolean);
    });
    const { custodyAddress } = at.platform.dependencies.network;
    await node.rpc('anvil_setBalance', [custodyAddress, '0x1']);
    await node.rpc('anvil_dropAllTransactions');
    const reasons = () =>
      at.database.handle.db
        .select({ reason: submissions.stateReason })
        .from(submissions)
        .where(eq(submissions.state, 'PENDING'));
    await until('each says why', async () => {
      const all = await reasons();
      return all.length === 6 && all.every(({ reason }) => reason?.includes('nsufficient funds'));
    });
    // Looks that send nothing keep the reason.
    await delay(1_500);
    expect((await reasons()).filter(({ reason }) => reason === null)).toEqual([]);
    await node.rpc('anvil_setBalance', [custodyAddress, `0x${(10n ** 19n).toString(16)}`]);
    await node.rpc('evm_setAutomine', [true]);
    await retired(at, ...begun);
    for (const one of begun) expect(await attemptsOf(at, one)).toHaveLength(1);
  });

  it('lives through a reorganisation that takes a burn out of its block', async () => {
    const at = await startRun({ mining: { everySeconds: 1 }, ledger: { finality: { confirmations: 4 } } });
    const { node } = at.world;
    const begun = await begin(at, 7n);
    const receiptOf = async () => {
      const [one] = await attemptsOf(at, begun);
      const receipt = one && (await node.rpc('eth_getTransactionReceipt', [one.hash]));
      return receipt as { blockNumber: string; blockHash: string } | null | undefined;
    };
    const before = await until('it is in a block', receiptOf);
    expect(await findRetirement(at.platform.dependencies, begun.id)).toMatchObject({ state: 'PENDING' });
    const head = BigInt((await node.rpc('eth_blockNumber')) as string);
    // Other blocks replace the blocks since then, and none of them contains the burn.
    await node.rpc('anvil_reorg', [Number(head - BigInt(before.blockNumber)) + 1, []]);
    expect((await receiptOf())?.blockHash).not.toBe(before.blockHash);
    await retired(at, begun);
  });

  it('goes on when the node dies, and comes back', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'anvil-'));
    const at = await startRun({ stateFile: join(folder, 'state.json') });
    const first = await begin(at, 1n);
    await retired(at, first);
    await at.world.node.stop();
    const second = await begin(at, 2n);
    await delay(500);
    expect(await findRetirement(at.platform.dependencies, second.id)).toMatchObject({ state: 'PENDING' });
    await at.world.node.start();
    await retired(at, first, second);
    await rm(folder, { recursive: true, force: true });
  });
});
