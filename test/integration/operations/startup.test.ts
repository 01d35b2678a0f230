/**
 * `npm start` for a newcomer at a terminal.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../../../src/db/embedded/freePort.ts';
import { memoryFolder } from '../../../devnet/memoryFolder.ts';
import { onlyWith } from '../../../devnet/runToEnd.ts';
import { serverPidOf } from '../../../devnet/serverPid.ts';

const BUILD = fileURLToPath(new URL('../../../scripts/build.mjs', import.meta.url));
const run = promisify(execFile);
/** Time for a first cluster on a busy machine. */
const START_TIMEOUT_MS = 120_000;

/** A folder in the project, where the server finds its packages and their module format. */
const BUILD_FOLDER = fileURLToPath(new URL('../../../build/', import.meta.url));
let built: string;
beforeAll(async () => {
  await mkdir(BUILD_FOLDER, { recursive: true });
  built = await mkdtemp(join(BUILD_FOLDER, 'test-'));
  await run(process.execPath, [BUILD, built]);
}, START_TIMEOUT_MS);
afterAll(() => rm(built, { recursive: true, force: true }));

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(await memoryFolder(), 'marketplace-start-'));
  // As root, PostgreSQL runs as another user, who must be able to reach the folder.
  await chmod(folder, 0o755);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function start(environment: Record<string, string>) {
  const child = spawn(process.execPath, [join(built, 'main.js')], {
    env: onlyWith({ DATA_DIR: folder, ...environment }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return { child, ended, output: () => output };
}

async function untilUp(server: ReturnType<typeof start>): Promise<void> {
  const failed = server.ended.then((code) => Promise.reject(new Error(`${code}: ${server.output()}`)));
  failed.catch(() => {});
  while (!server.output().includes('GraphiQL in a browser'))
    await Promise.race([once(server.child.stdout, 'data'), failed]);
}

describe('the build', () => {
  it('is made again when a source has changed, and only then', { timeout: START_TIMEOUT_MS }, async () => {
    const madeAtMs = async () => (await stat(join(built, 'main.js'))).mtimeMs;
    const build = () => run(process.execPath, [BUILD, built]);
    const first = await madeAtMs();
    await build();
    expect(await madeAtMs()).toBe(first);

    const record = join(built, 'main.inputs.json');
    const inputs = JSON.parse(await readFile(record, 'utf8')) as Record<string, { mtimeMs: number }>;
    expect(inputs).toHaveProperty(['src/main.ts']);
    // The folder shows an added file.
    expect(inputs).toHaveProperty(['src/schema/carbon']);
    const source = inputs['src/main.ts'];
    if (source) source.mtimeMs -= 1;
    await writeFile(record, JSON.stringify(inputs));
    await build();
    expect(await madeAtMs()).toBeGreaterThan(first);
  });
});

describe('the server', () => {
  it('says that its port is taken before it makes a database', { timeout: START_TIMEOUT_MS }, async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    try {
      const server = start({ PORT: String(port), HOST: '127.0.0.1' });
      expect(await server.ended).toBe(1);
      expect(server.output().trim()).toBe(
        `Port ${port} on 127.0.0.1 is in use by another program. Stop it, or set PORT to a free one.`,
      );
      expect(await readdir(folder)).not.toContain('postgres');
    } finally {
      other.close();
    }
  });

  it('says what a first start does while it takes its time', { timeout: START_TIMEOUT_MS }, async () => {
    const server = start({ PORT: String(await freePort()), HOST: '127.0.0.1' });
    try {
      await untilUp(server);
      expect(server.output()).toMatch(
        /making a PostgreSQL[^]*starting PostgreSQL[^]*database's schema[^]*GraphiQL in a browser/,
      );
      // Node warns about deprecated calls in packages that it finds outside of node_modules.
      expect(server.output()).not.toContain('DeprecationWarning');
    } finally {
      server.child.kill('SIGTERM');
      expect(await server.ended, server.output()).toBe(0);
    }
  });

  it(
    'ends when its embedded database has ended for good, and says so',
    { timeout: START_TIMEOUT_MS },
    async () => {
      const server = start({ PORT: String(await freePort()), HOST: '127.0.0.1' });
      try {
        await untilUp(server);
        // A disk without room ends it as well.
        process.kill(await serverPidOf(join(folder, 'postgres')), 'SIGKILL');
        expect(await server.ended).toBe(1);
        expect(server.output()).toMatch(/The embedded PostgreSQL in .* has ended.*start again/);
      } finally {
        server.child.kill('SIGKILL');
      }
    },
  );
});
