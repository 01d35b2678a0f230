/**
 * The programs in examples/ run unchanged against a server process that trusts only their documents.
 */
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onlyWith } from '../../../devnet/runToEnd.ts';
import { generate } from '../../../examples/web/codegen.ts';
import { EXAMPLES, prepareServer, type ServerProcess } from './server.ts';

const TIMEOUT_MS = 180_000;
const ROOT = join(EXAMPLES, '..');

let server: ServerProcess;
let tokenAddress: string;

beforeAll(async () => {
  server = await prepareServer();
  await server.start();
  const token = await server.tokenFor('developer', 'developer');
  const input = {
    creditType: 'VCU',
    verificationBodyRef: `EXAMPLES-${randomUUID().slice(0, 8)}`,
    vintageYear: 2024,
    quantityCO2e: '1000',
    projectLocation: 'Kasigau Corridor, Kenya',
    projectType: 'REDD+',
    countryCode: 'KE',
    idempotencyKey: randomUUID(),
  };
  const { createProject } = await server.send<{ createProject: { project: { id: string } } }>(
    'CreateProject',
    { input },
    token,
  );
  const variables = { id: createProject.project.id };
  let state = '';
  while (state !== 'OPEN') {
    const { node } = await server.send<{ node: { state: string; tokenAddress: string } }>(
      'ProjectState',
      variables,
      token,
    );
    ({ state, tokenAddress } = node);
    await delay(100);
  }
}, TIMEOUT_MS);
afterAll(() => server.remove());

/**
 * Runs a program to its end.
 * @returns its lines of JSON
 */
async function run(command: string, args: string[], env: Record<string, string>): Promise<unknown[]> {
  const child = spawn(command, args, {
    cwd: ROOT,
    env: onlyWith({ API_URL: server.url, ...env }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [output, problems] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (problems += text));
  const [code] = (await once(child, 'close')) as [number | null];
  expect(code, problems).toBe(0);
  return linesOf(output);
}

function linesOf(output: string): Record<string, unknown>[] {
  return output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

async function retire(buyerId: string, buyerName: string, tonnes: number): Promise<void> {
  const token = await server.tokenFor('buyer', buyerId);
  const amount = { buyerId, tokenAddress, amountCO2e: tonnes };
  await server.send('BuyFor', { input: { ...amount, idempotencyKey: randomUUID() } }, token);
  const input = { ...amount, buyerName, idempotencyKey: randomUUID() };
  await server.send('RetireFor', { input }, token);
}

describe('what is generated for the examples', { timeout: TIMEOUT_MS }, () => {
  it('by codegen is what the contract and the operations say (npm run examples:generate)', async () => {
    for (const { path, contents } of await generate()) {
      expect(await readFile(path, 'utf8'), path).toBe(contents);
    }
  });

  it("by Relay's compiler is what the contract and the operations say (npm run examples:generate)", () => {
    const compiler = join(ROOT, 'node_modules/relay-compiler/cli.js');
    const { status, stderr, stdout } = spawnSync(
      process.execPath,
      [compiler, 'relay.config.json', '--validate'],
      { cwd: join(EXAMPLES, 'relay'), encoding: 'utf8' },
    );
    expect(status, stdout + stderr).toBe(0);
  });
});

describe('the example', { timeout: TIMEOUT_MS }, () => {
  it('web: Apollo Client with the types and ids of codegen, and a subscription in parts', async () => {
    const TOKEN = await server.tokenFor('buyer', 'web');
    const main = 'examples/web/src/main.ts';
    const [said] = await run(process.execPath, ['--import', 'tsx', main], { TOKEN, BUYER_ID: 'web' });
    expect(said).toMatchObject({
      txHash: expect.stringMatching(/^\w{20,}$/) as string,
      live: { tokenAddress, beneficiary: expect.stringContaining('Web Example') as string, tonnes: '5' },
    });
  });

  it("relay: operations by the compiler's ids, over HTTP and a websocket", async () => {
    const TOKEN = await server.tokenFor('buyer', 'relay');
    const [said] = await run(process.execPath, ['examples/relay/src/main.js'], { TOKEN, BUYER_ID: 'relay' });
    const { before, after, live } = said as { before: string; after: string; live: unknown };
    expect(live).toMatchObject({
      tokenAddress,
      beneficiary: expect.stringContaining('Relay Example') as string,
      tonnes: '3',
    });
    expect(Number(before) - Number(after)).toBe(3);
  });

  it('python: gql over HTTP and a websocket', async (context) => {
    const python = process.env['PYTHON'] ?? 'python3';
    const { status } = spawnSync(python, ['-c', 'import gql, aiohttp']);
    context.skip(
      status !== 0,
      `${python} with gql is not here: pip install -r examples/python/requirements.txt`,
    );
    await retire('python', 'Python Example', 2);
    const lines = await run(python, ['examples/python/main.py'], { COUNT: '1' });
    expect(lines[0]).toMatchObject({ unsold: expect.stringMatching(/^\d+$/) as string });
    expect(lines.at(-1)).toMatchObject({ tokenAddress, beneficiary: expect.any(String) as string });
  });

  it('follower: every retirement once, over a crash of the server and one of its own', async () => {
    const cursorFile = join(server.folder, 'cursor.txt');
    const env = onlyWith({ API_URL: server.url, CURSOR_FILE: cursorFile });
    let output = '';
    const follow = () => {
      const child = spawn(process.execPath, ['--import', 'tsx', 'examples/follower/main.ts'], {
        cwd: ROOT,
        env,
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
      return child;
    };
    const seenOf = (name: string) => linesOf(output).filter(({ beneficiary }) => beneficiary === name);
    const sees = (name: string) =>
      expect.poll(() => seenOf(name).length, { timeout: TIMEOUT_MS }).toBeGreaterThan(0);

    // A cursor of a history that the server never had: the follower begins again.
    await writeFile(cursorFile, '7.0badcafe');
    let follower = follow();
    try {
      await retire('follower', 'before', 1);
      await sees('before');
      await server.kill();
      await server.start();
      await retire('follower', 'after the server', 1);
      await sees('after the server');
      // If it is killed before it keeps its cursor, it may print the last record again.
      const { cursor } = seenOf('after the server')[0] ?? {};
      await expect.poll(() => readFile(cursorFile, 'utf8'), { timeout: TIMEOUT_MS }).toBe(cursor);
      follower.kill('SIGKILL');
      await once(follower, 'close');
      await retire('follower', 'while it was stopped', 1);
      follower = follow();
      await sees('while it was stopped');
    } finally {
      follower.kill('SIGKILL');
    }
    for (const name of ['before', 'after the server', 'while it was stopped']) {
      expect(seenOf(name), name).toHaveLength(1);
    }
    const indexes = linesOf(output).map(({ index }) => Number(index));
    expect(indexes).toEqual(indexes.map((_index, at) => at));
  });
});
