/**
 * examples/go: the transparency logs, verified by third-party libraries. Skipped without Go and the modules.
 */
import { execFile, spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { openProject } from '../../../devnet/platform.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { parseCheckpoint, type SignedNote } from '../../../src/transparency/checkpoint.ts';
import { startMarketplace, type Marketplace } from '../../support/http/marketplace.ts';

const PROGRAM = fileURLToPath(new URL('../../../examples/go', import.meta.url));
/** The first build compiles the libraries. */
const BUILD_TIMEOUT_MS = 120_000;
const runFile = promisify(execFile);

let marketplace: Marketplace;
let logs: string;
let folder: string;
let isBuilt: boolean;
let purchaseId: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'verify-with-go-'));
  // Nothing is downloaded: a test must not depend on a server of modules.
  const env = { ...process.env, GOPROXY: 'off' };
  isBuilt = spawnSync('go', ['build', '-o', join(folder, 'verify')], { cwd: PROGRAM, env }).status === 0;
  marketplace = await startMarketplace({ withIndexer: false });
  logs = marketplace.url.replace('/graphql', '/logs');
  const { dependencies } = marketplace.app;
  const { tokenAddress } = await openProject(marketplace.app, 1_000n);
  const bought = { buyerId: 'acme', tokenAddress, amountCO2e: 10n, idempotencyKey: randomUUID() };
  purchaseId = (await purchase(dependencies, 'acme', bought)).id;
  for (const note of ['one', 'two', 'three']) {
    const input = { buyerId: 'acme', buyerName: 'Acme', tokenAddress, amountCO2e: 1n, note };
    await retire(dependencies, 'acme', { ...input, idempotencyKey: randomUUID() });
    if (note !== 'one') continue;
    await published(1);
    await writeFile(join(folder, 'kept'), await textAt('retirements/checkpoint'));
  }
  await published(3);
}, BUILD_TIMEOUT_MS);
afterAll(async () => {
  await marketplace.stop();
  await rm(folder, { recursive: true });
});
beforeEach((context) => {
  context.skip(!isBuilt, 'Go with the modules of examples/go is not here: cd examples/go && go mod download');
});

const textAt = async (path: string) => (await fetch(`${logs}/${path}`)).text();

/** Waits for the job, which builds the log a second behind. */
async function published(size: number): Promise<void> {
  while ((parseCheckpoint(await textAt('retirements/checkpoint'))?.size ?? -1) < size) await delay(50);
}

async function verify(...args: string[]): Promise<unknown> {
  const { stdout } = await runFile(join(folder, 'verify'), args);
  return JSON.parse(stdout);
}

/** A checkpoint with another past, signed with the log's key. */
async function forgedCheckpoint(): Promise<string> {
  const kept = parseCheckpoint(await readFile(join(folder, 'kept'), 'utf8')) as SignedNote;
  const { key } = marketplace.app.dependencies.logs;
  return key.signCheckpoint({ ...kept, root: Buffer.alloc(32, 1) });
}

it('proves a retirement and the growth of the log from its tiles, and refuses another past', async () => {
  const key = await textAt('retirements/key');
  const file = join(folder, 'by-tiles');
  await writeFile(file, await readFile(join(folder, 'kept')));
  expect(await verify('retirement', `${logs}/retirements`, key.trim(), '2', file)).toMatchObject({
    leaf: 2,
    size: 3,
    retirement: { note: 'three' },
  });
  expect(parseCheckpoint(await readFile(file, 'utf8'))?.size).toBe(3);
  await writeFile(file, await forgedCheckpoint());
  const again = verify('retirement', `${logs}/retirements`, key.trim(), '2', file);
  await expect(again).rejects.toThrow(/rewritten since the checkpoint of 1 leaves/);
});

it('proves growth by consistencyProof, and refuses another past and a changed checkpoint', async () => {
  const key = (await textAt('retirements/key')).trim();
  const grow = (file: string) => verify('growth', marketplace.url, 'retirements', key, file);
  expect(await grow(join(folder, 'kept'))).toEqual({ from: 1, to: 3 });
  const kept = parseCheckpoint(await readFile(join(folder, 'kept'), 'utf8')) as SignedNote;
  const empty = { ...kept, size: 0, root: createHash('sha256').digest() };
  await writeFile(join(folder, 'empty'), marketplace.app.dependencies.logs.key.signCheckpoint(empty));
  expect(await grow(join(folder, 'empty'))).toEqual({ from: 0, to: 3 });
  const file = join(folder, 'other-past');
  await writeFile(file, await forgedCheckpoint());
  await expect(grow(file)).rejects.toThrow(/rewritten since the checkpoint of 1 leaves/);
  await writeFile(file, (await readFile(join(folder, 'kept'), 'utf8')).replace('\n1\n', '\n2\n'));
  await expect(grow(file)).rejects.toThrow(/invalid signature/);
});

it("proves a purchase from the API's answer, and refuses a changed leaf and another log's key", async () => {
  const id = Buffer.from(`Purchase:${purchaseId}`).toString('base64url');
  const ask = async () =>
    marketplace.send<{ node: { inclusionProof: object | null } }>(
      `query ($id: ID!) { node(id: $id) { ... on Purchase { inclusionProof { leafIndex entry hashes checkpoint } } } }`,
      { id },
      { role: 'buyer', subject: 'acme' },
    );
  await expect.poll(async () => (await ask()).data?.node.inclusionProof).not.toBeNull();
  const answer = JSON.stringify(await ask());
  const file = join(folder, 'purchase.json');
  const key = (await textAt('transfers/key')).trim();
  await writeFile(file, answer);
  expect(await verify('proof', file, key)).toMatchObject({ entry: { id: purchaseId, tonnes: '10' } });
  await expect(verify('proof', file, (await textAt('retirements/key')).trim())).rejects.toThrow(/signatures/);
  await writeFile(file, answer.replace(String.raw`\"tonnes\":\"10\"`, String.raw`\"tonnes\":\"11\"`));
  await expect(verify('proof', file, key)).rejects.toThrow(/is not in the log/);
});

it('proves a certificate, and refuses one that says something else than its proof', async () => {
  const key = (await textAt('retirements/key')).trim();
  const records = await marketplace.send<{ retirementRecords: { nodes: { tokenAddress: string }[] } }>(
    '{ retirementRecords(first: 1) { nodes { tokenAddress } } }',
  );
  const token = records.data?.retirementRecords.nodes[0]?.tokenAddress;
  const certificate = await (await fetch(new URL(`/retirements/${token}-0.json`, marketplace.url))).text();
  const file = join(folder, 'certificate.json');
  await writeFile(file, certificate);
  expect(await verify('proof', file, key)).toMatchObject({ leaf: 0, entry: { note: 'one' } });
  for (const [from, to, name] of [
    ['"beneficiary": "Acme"', '"beneficiary": "Evil"', 'beneficiary'],
    ['"note": "one"', '"note": "two"', 'note'],
    ['"tonnes": "1"', '"tonnes": "1000"', 'tonnes'],
    ['"tonnes": "1"', '"tonnes": [1]', 'tonnes'],
    ['"amount": "1', '"amount": "2', 'amount'],
    // Go decodes a structure's member names without regard to case.
    ['"beneficiary": "Acme"', '"beneficiary": "Evil", "Beneficiary": "Acme"', 'beneficiary'],
    ['"networkId": "', '"networkId": "another-', 'network'],
  ] as const) {
    expect(certificate).toContain(from);
    await writeFile(file, certificate.replace(from, to));
    await expect(verify('proof', file, key)).rejects.toThrow(
      `the certificate has another ${name} than the log`,
    );
  }
});
