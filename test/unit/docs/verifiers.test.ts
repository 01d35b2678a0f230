import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createLogKey } from '../../../src/transparency/checkpoint.ts';
import { leafHash } from '../../../src/transparency/merkle.ts';

const run = promisify(execFile);

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'verifiers-'));
});

/** What a program of examples/verify-retirement writes to standard error when it fails. */
async function refusalOf(name: string, ...args: string[]): Promise<unknown> {
  const program = fileURLToPath(new URL(`../../../examples/verify-retirement/${name}.mjs`, import.meta.url));
  return run(process.execPath, [program, ...args]).catch(
    ({ code, stderr }: { code: number; stderr: string }) => ({
      code,
      stderr,
    }),
  );
}

const ORIGIN = 'registry.example/logs/retirements';
const ENTRY = Buffer.from('{"index":0}');
const key = createLogKey(Buffer.alloc(32, 1));
/** A log of one leaf, whose hash is the root. */
const checkpoint = key.signCheckpoint({ origin: ORIGIN, size: 1, root: leafHash(ENTRY), networkId: 'x' });

/** The address of a server with the log's files. */
async function serveLog(): Promise<string> {
  const bundle = Buffer.concat([Buffer.of(0, ENTRY.length), ENTRY]);
  const server = createHttpServer(({ url }, response) =>
    response.end(url === '/checkpoint' ? checkpoint : bundle),
  );
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('a leaf that the log does not have', () => {
  it.each(['1', '-1', '0.5', 'x'])('is named by the verifier of the files: %s', async (leaf) => {
    expect(await refusalOf('verify', await serveLog(), key.verifierKey(ORIGIN), leaf)).toEqual({
      code: 1,
      stderr: `the log has no leaf ${leaf}: its 1 leaves count from 0\n`,
    });
  });

  it('is in no certificate, although its proof would lead to the root', async () => {
    const file = join(folder, 'beyond.json');
    const inclusionProof = { leafIndex: 1, entry: String(ENTRY), hashes: [], checkpoint };
    await writeFile(file, JSON.stringify({ inclusionProof }));
    expect(await refusalOf('verifyCertificate', file, key.verifierKey(ORIGIN))).toEqual({
      code: 1,
      stderr: 'the log has fewer leaves than the proof says\n',
    });
  });
});

describe('a verifier that can’t verify says why in one line', () => {
  it.each([
    ['verify', 'verify.mjs <address of the log> <verifier key> <leaf> [checkpoint file]'],
    ['verifyCertificate', 'verifyCertificate.mjs <certificate.json> <verifier key>'],
    ['verifyGrowth', 'verifyGrowth.mjs <address of the API> <log> <verifier key> <checkpoint file>'],
  ])('without the arguments of %s', async (name, usage) => {
    const refusal = { code: 1, stderr: `usage: node ${usage}\n` };
    expect(await refusalOf(name)).toEqual(refusal);
    expect(await refusalOf(name, ...Array.from({ length: 5 }, () => 'x'))).toEqual(refusal);
  });

  it('with a text that is no verifier key', async () => {
    const file = join(folder, 'certificate.json');
    await writeFile(file, JSON.stringify({ inclusionProof: { checkpoint: '' } }));
    expect(await refusalOf('verifyCertificate', file, 'nokey')).toEqual({
      code: 1,
      stderr: '"nokey" is no verifier key: take the one at the log\'s address, /key\n',
    });
  });

  it('with a server that is not there, and the reason', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    expect(await refusalOf('verify', `http://localhost:${port}/logs/retirements`, 'k', '0')).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^fetch failed: .*ECONNREFUSED.*\n$/) as string,
    });
  });
});
