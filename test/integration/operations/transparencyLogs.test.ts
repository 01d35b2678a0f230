/**
 * The transparency logs for their readers: the files over HTTP, verified by a program that shares no code
 * with the product, while two instances build the logs.
 */
import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openProject } from '../../../devnet/platform.ts';
import type { TokenizedProject } from '../../../src/resolvers/carbon/findProject.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { parseCheckpoint, type SignedNote } from '../../../src/transparency/checkpoint.ts';
import { createPublishedLogs } from '../../../src/transparency/publishedLogs.ts';
import { changePastRules } from '../../support/database/database.ts';
import { buyer, mutate } from '../../support/http/creditTrade.ts';
import { startMarketplace, type Marketplace } from '../../support/http/marketplace.ts';
import { logAll } from '../../support/reconciliation/logAll.ts';

const example = (name: string) =>
  fileURLToPath(new URL(`../../../examples/verify-retirement/${name}.mjs`, import.meta.url));
const VERIFY = example('verify');
const run = promisify(execFile);

let marketplace: Marketplace;
let project: TokenizedProject;
let logs: string;
let folder: string;

beforeAll(async () => {
  marketplace = await startMarketplace({ withIndexer: false });
  logs = marketplace.url.replace('/graphql', '/logs');
  folder = await mkdtemp(join(tmpdir(), 'checkpoints-'));
  project = await openProject(marketplace.app, 1_000n);
  await buy();
  await burn('one');
});
afterAll(async () => {
  await marketplace.stop();
  await rm(folder, { recursive: true });
});

async function buy({ tokenAddress } = project) {
  const input = { buyerId: 'acme', tokenAddress, amountCO2e: 10n };
  return purchase(marketplace.app.dependencies, 'acme', { ...input, idempotencyKey: randomUUID() });
}

async function burn(note: string): Promise<void> {
  const { tokenAddress } = project;
  const input = { buyerId: 'acme', buyerName: 'Acme', tokenAddress, amountCO2e: 1n, note };
  await retire(marketplace.app.dependencies, 'acme', { ...input, idempotencyKey: randomUUID() });
}

const get = (path: string) => fetch(`${logs}/${path}`);
const textAt = async (path: string) => (await get(path)).text();

/** Waits for the job, which builds the log a second behind. */
async function published(log: string, size: number) {
  for (;;) {
    const note = parseCheckpoint(await textAt(`${log}/checkpoint`));
    if (note && note.size >= size) return note;
    await delay(50);
  }
}

async function verify(leaf: number, file: string) {
  const key = (await textAt('retirements/key')).trim();
  const { stdout } = await run(process.execPath, [VERIFY, `${logs}/retirements`, key, String(leaf), file]);
  return JSON.parse(stdout) as { leaf: number; size: number; retirement: Record<string, unknown> };
}

describe('a stranger', () => {
  it('verifies that a retirement is in the log, and that the log only grew', async () => {
    const file = join(folder, 'checkpoint');
    await published('retirements', 1);
    const first = await verify(0, file);
    expect(first.retirement).toEqual({
      amount: '1000000000000000000',
      beneficiary: 'Acme',
      index: 0,
      note: 'one',
      retiredBy: marketplace.app.dependencies.network.custodyAddress,
      timestamp: expect.any(Number),
      tokenAddress: project.tokenAddress,
    });
    await burn('two “quoted” \u2028 \\ \t end');
    await published('retirements', 2);
    const second = await verify(1, file);
    expect(second).toMatchObject({ size: 2, retirement: { note: 'two “quoted” \u2028 \\ \t end' } });
    await writeFile(file, (await readFile(file, 'utf8')).replace('\n2\n', '\n1\n'));
    await expect(verify(1, file)).rejects.toThrow(/not signed with this key/);
  });

  it('finds the leaf of a record and the heads of the logs in the contract', async () => {
    await published('retirements', 1);
    const { data } = await marketplace.send<{
      retirementRecord: { leafIndex: number };
      transparencyLogs: {
        name: string;
        origin: string;
        checkpoint: string;
        rootHash: string;
        verifierKey: string;
      }[];
    }>(
      `query ($token: Address!) {
        retirementRecord(tokenAddress: $token, index: 0) { leafIndex }
        transparencyLogs { name origin treeSize rootHash checkpoint verifierKey updatedAt }
      }`,
      { token: project.tokenAddress },
    );
    expect(data?.retirementRecord).toEqual({ leafIndex: 0 });
    expect(data?.transparencyLogs.map(({ name }) => name)).toEqual(['audit', 'retirements', 'transfers']);
    const log = data?.transparencyLogs[1];
    expect(parseCheckpoint(log?.checkpoint ?? '')).toMatchObject({
      origin: log?.origin,
      root: Buffer.from(log?.rootHash ?? '', 'hex'),
      networkId: marketplace.app.dependencies.network.networkId,
    });
    expect(`${log?.verifierKey}\n`).toBe(await textAt('retirements/key'));
  });

  it('gets a proof of one leaf as a file', async () => {
    await published('retirements', 2);
    const [format, index, sibling, empty, origin] = (await textAt('retirements/proof/1')).split('\n');
    expect([format, index, empty]).toEqual(['c2sp.org/tlog-proof@v1', 'index 1', '']);
    expect(Buffer.from(sibling ?? '', 'base64')).toHaveLength(32);
    expect(origin).toBe(`${new URL(logs).host}/logs/retirements`);
    expect((await get('retirements/proof/999999')).status).toBe(404);
  });

  it('reads hashes of all logs, and entries of retirements alone', async () => {
    const { size } = await published('transfers', 3);
    const tile = await get(`transfers/tile/0/000.p/${size}`);
    // A log with a new name has other tiles at the same addresses.
    expect(tile.headers.get('cache-control')).toBe('public, max-age=60');
    expect(tile.headers.get('content-type')).toBe('application/octet-stream');
    expect(await tile.arrayBuffer()).toHaveProperty('byteLength', 32 * size);
    expect((await get('retirements/checkpoint')).headers.get('cache-control')).toBe('public, max-age=2');
    const missing = [
      'transfers/tile/entries/000.p/1',
      `transfers/tile/0/000.p/${size + 100}`,
      'transfers/tile/0/000',
      'transfers/tile/0/x000/000.p/1',
      'transfers/tile/0/0.p/1',
      'transfers/tile/0/000.p/01',
      'transfers/tile/7/000.p/1',
      `retirements/tile/entries/000.p/${size + 100}`,
      'transfers/proof/0',
      'others/checkpoint',
      '',
    ];
    const statuses = await Promise.all(missing.map(async (path) => (await get(path)).status));
    expect(statuses).toEqual(missing.map(() => 404));
    expect((await fetch(`${logs}/retirements/checkpoint`, { method: 'POST' })).status).toBe(405);
  });
});

it('may keep a full tile for a day, and not for ever', async () => {
  const { db } = marketplace.database.handle;
  const read = createPublishedLogs({ db, logs: marketplace.app.dependencies.logs });
  await changePastRules(
    marketplace.database,
    sql`INSERT INTO transparency_tiles (log, level, index, hashes) VALUES ('audit', 3, 0, ${Buffer.alloc(32 * 256)})`,
  );
  expect(await read('audit/tile/3/000')).toMatchObject({ keptSeconds: 24 * 60 * 60 });
  expect(await read('audit/tile/3/000.p/255')).toMatchObject({ keptSeconds: 60 });
  // It has no other address.
  expect(await read('audit/tile/3/000.p/256')).toBeNull();
});

describe('the contract', () => {
  const grown = async (file: string, graphql = marketplace.url) => {
    const key = await textAt('transfers/key');
    const { stdout } = await run(process.execPath, [
      example('verifyGrowth'),
      graphql,
      'transfers',
      key,
      file,
    ]);
    return JSON.parse(stdout) as { from: number; to: number };
  };
  const prove = async (log: string, from: number, to?: number) => {
    const { data, errors } = await marketplace.send<{ consistencyProof: Record<string, unknown> | null }>(
      `query ($log: String!, $from: LeafNumber!, $to: LeafNumber) {
        consistencyProof(log: $log, fromTreeSize: $from, toTreeSize: $to) { treeSize hashes checkpoint } }`,
      { log, from, to },
    );
    return data?.consistencyProof ?? `${errors[0]?.extensions.code}: ${errors[0]?.message}`;
  };

  it('proves that a log only grew since each of its sizes, to a verifier of its own', async () => {
    const file = join(folder, 'transfers');
    const kept: { size: number; note: string }[] = [];
    // All transfers are published, so that each purchase below adds one leaf.
    const [{ made } = { made: 0 }] = await marketplace.database.handle.db.execute<{ made: number }>(
      sql`SELECT count(*)::int AS made FROM transfers`,
    );
    for (let { size } = await published('transfers', made); kept.length < 3; size += 1) {
      await published('transfers', size);
      kept.push({ size, note: await textAt('transfers/checkpoint') });
      await buy();
    }
    const { size: last } = await published('transfers', (kept.at(-1)?.size ?? 0) + 1);
    for (const { size, note } of kept) {
      await writeFile(file, note);
      expect(await grown(file)).toEqual({ from: size, to: last });
    }
    // The checkpoint of an empty log, as in a new installation.
    const empty = { ...(parseCheckpoint(kept[0]?.note ?? '') as SignedNote), size: 0 };
    const nothing = createHash('sha256').digest();
    await writeFile(file, marketplace.app.dependencies.logs.key.signCheckpoint({ ...empty, root: nothing }));
    expect(await grown(file)).toEqual({ from: 0, to: last });
    // A rewritten log: the root of another size, signed with the log's own key.
    const [{ size } = { size: 0 }, other] = kept;
    const otherHead = parseCheckpoint(other?.note ?? '') as SignedNote;
    const { key } = marketplace.app.dependencies.logs;
    await writeFile(file, key.signCheckpoint({ ...otherHead, size }));
    await expect(grown(file)).rejects.toThrow(/rewritten since the checkpoint/);
  });

  it('proves between two sizes, and refuses those that a log does not have', async () => {
    const { size } = await published('transfers', 3);
    expect(await prove('transfers', 2, 2)).toEqual({ treeSize: 2, hashes: [], checkpoint: null });
    expect(await prove('transfers', 1, 2)).toMatchObject({
      treeSize: 2,
      hashes: [expect.stringMatching(/^[0-9a-f]{64}$/)],
      checkpoint: null,
    });
    for (const [from, to] of [[0], [3, 2], [1, size + 1_000], [2 ** 31], [-1, 1]] as const) {
      expect(await prove('transfers', from, to), `${from} to ${to}`).toMatch(/^BAD_USER_INPUT: /);
    }
    expect(await prove('transfers', 3, 2)).toContain('fromTreeSize is 3 and toTreeSize 2');
    expect(await prove('others', 1)).toMatch(/^NOT_FOUND: /);
  });

  it('shows a buyer, and no other one, that a purchase is in the log of transfers', async () => {
    const { id } = await buy();
    const globalId = Buffer.from(`Purchase:${id}`).toString('base64url');
    const ask = async (subject: string) => {
      const { data } = await marketplace.send<{ node: { inclusionProof: object | null } | null }>(
        `query ($id: ID!) { node(id: $id) { ... on Purchase {
          inclusionProof { leafIndex entry hashes treeSize rootHash checkpoint } } } }`,
        { id: globalId },
        { role: 'buyer', subject },
      );
      return data?.node;
    };
    await expect.poll(async () => (await ask('acme'))?.inclusionProof).not.toBeNull();
    const file = join(folder, 'purchase.json');
    await writeFile(file, JSON.stringify(await ask('acme')));
    const key = await textAt('transfers/key');
    const { stdout } = await run(process.execPath, [example('verifyCertificate'), file, key]);
    expect(JSON.parse(stdout)).toMatchObject({ entry: { id, creditOwnerId: 'acme', tonnes: '10' } });
    const whole = JSON.stringify(await ask('acme'));
    for (const [forged, refusal] of [
      [
        whole.replace(String.raw`\"tonnes\":\"10\"`, String.raw`\"tonnes\":\"9\"`),
        'does not lead to the signed root',
      ],
      [whole.replace(/"hashes":\["[0-9a-f]{64}/, '$&zz'), 'zz" is not 64 hexadecimal digits'],
    ] as const) {
      await writeFile(file, forged);
      await expect(run(process.execPath, [example('verifyCertificate'), file, key])).rejects.toThrow(refusal);
    }
    expect(await ask('globex')).toBeNull();
  });
});

describe('several builders at once', () => {
  it('never sign two roots for one size, and miss nothing that commits in another order than it began', async () => {
    const { db } = marketplace.database.handle;
    const { logs: ours } = marketplace.app.dependencies;
    const signed = new Map<string, Set<string>>();
    const isOver = { value: false };
    const watch = async () => {
      while (!isOver.value) {
        for (const log of ['transfers', 'retirements']) {
          const { size, root } = parseCheckpoint(await textAt(`${log}/checkpoint`)) ?? {};
          const roots = signed.get(`${log} ${size}`) ?? new Set();
          signed.set(`${log} ${size}`, roots.add(root?.toString('hex') ?? ''));
        }
      }
    };
    const watching = watch();
    try {
      // An open transaction with an id holds up the log of transfers, and no transfer is lost.
      await db.transaction(async (tx) => {
        await tx.execute(sql`SELECT pg_current_xact_id()`);
        await Promise.all([...Array.from({ length: 8 }, buy), ours.catchUp(), ours.catchUp()]);
      });
      await Promise.all([...Array.from({ length: 8 }, buy), ours.catchUp(), ours.catchUp()]);
      await ours.catchUp();
    } finally {
      isOver.value = true;
      await watching;
    }
    expect([...signed.values()].map((roots) => roots.size)).toEqual([...signed.keys()].map(() => 1));
    const [rows] = await db.execute<{ transfers: number }>(
      sql`SELECT count(*)::int AS transfers FROM transfers`,
    );
    expect(await published('transfers', rows?.transfers ?? 0)).toHaveProperty('size', rows?.transfers);
  });
});

it('take one step for what fits into one, however fast more is committed', async () => {
  const large = await openProject(marketplace.app, 100_000n);
  const fourPurchases = () => Promise.all(Array.from({ length: 4 }, () => buy(large)));
  let most = 0;
  // The platform's own builder may be faster, and leave some rounds without a step.
  for (let round = 0; round < 20; round++) {
    await fourPurchases();
    const more = fourPurchases();
    let steps = 0;
    await marketplace.app.dependencies.logs.build('transfers', () => {
      steps += 1;
      return false;
    });
    most = Math.max(most, steps);
    await more;
  }
  expect(most).toBe(1);
});

// A reconciliation, a minute after the start, also lets them grow.
it('grow on beside one that is damaged', { timeout: 30_000 }, async () => {
  await logAll(marketplace.app.dependencies.logs);
  const { size: transfers } = await published('transfers', 1);
  const { size: entries } = await published('audit', 0);
  await changePastRules(
    marketplace.database,
    sql`UPDATE transparency_heads SET size = size - 1 WHERE log = 'retirements'`,
  );
  const { tokenAddress } = project;
  const input = { buyerId: 'acme', tokenAddress, amountCO2e: 1 };
  await mutate(marketplace, ['purchase', 'PurchaseInput', '__typename'], input, buyer('acme'));
  expect((await published('transfers', transfers + 1)).size).toBe(transfers + 1);
  expect((await published('audit', entries + 1)).size).toBeGreaterThan(entries);
});
