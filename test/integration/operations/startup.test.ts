/**
 * `npm start` as a newcomer meets it at a terminal.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../../../src/db/embedded/freePort.ts';
import { memoryFolder } from '../../support/run/memoryFolder.ts';

const MAIN = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));
/** A first cluster on a busy machine. */
const START_TIMEOUT_MS = 120_000;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(await memoryFolder(), 'marketplace-start-'));
  // As root, PostgreSQL runs as a user of its own, who must be able to reach the folder.
  await chmod(folder, 0o755);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function start(environment: NodeJS.Dict<string>) {
  const child = spawn(process.execPath, ['--import', 'tsx', MAIN], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], DATA_DIR: folder, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return { child, ended, output: () => output };
}

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
    const failed = server.ended.then((code) => Promise.reject(new Error(`${code}: ${server.output()}`)));
    failed.catch(() => {});
    try {
      const isUp = () => server.output().includes('GraphiQL in a browser');
      while (!isUp()) await Promise.race([once(server.child.stdout, 'data'), failed]);
      expect(server.output()).toMatch(
        /making a PostgreSQL[^]*starting PostgreSQL[^]*database's schema[^]*GraphiQL in a browser/,
      );
    } finally {
      server.child.kill('SIGTERM');
      expect(await server.ended, server.output()).toBe(0);
    }
  });
});
