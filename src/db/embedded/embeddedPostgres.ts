/**
 * The embedded PostgreSQL: a real server from npm, for machines that have none.
 *
 *   no cluster ──initdb──▶ stopped ──start──▶ running ──last one out stops it──▶ stopped
 *                             ▲                  │
 *                             └──────crash───────┴──left behind by kill -9: taken over
 *
 * Several server processes may share one cluster: whoever comes second attaches, and whoever leaves last
 * stops it. A file lock keeps starts and stops apart.
 */
import { spawn } from 'node:child_process';
import { createWriteStream, existsSync } from 'node:fs';
import { chown, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import postgres from 'postgres';
import { messageOf } from '../../errors.ts';
import { StartupError } from '../../startupErrors.ts';
import { locatePostgres, type PostgresPrograms } from './binaries.ts';
import { isAlive, withFileLock } from './fileLock.ts';

export interface EmbeddedPostgres {
  url: string;
  /** Whether a server that was already running is used. */
  attached: boolean;
  /** Stops the server, unless other processes still use it. */
  stop(): Promise<void>;
}

const DATABASE = 'marketplace';
const SUPERUSER = 'marketplace';
/** Recovery after a crash replays a log of bounded size; it takes seconds. */
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 15_000;
const POLL_MS = 50;
/** Enough for several instances with their pools. */
const MAX_CONNECTIONS = 200;

/** @throws StartupError, or the system's own error when the folder can't be written. */
export async function openEmbeddedPostgres(options: {
  dataDir: string;
  password: string;
}): Promise<EmbeddedPostgres> {
  const dataFolder = resolve(options.dataDir);
  await mkdir(dataFolder, { recursive: true });
  const lockPath = join(dataFolder, 'postgres.lock');
  const logPath = join(dataFolder, 'postgres.log');

  return withFileLock(lockPath, async () => {
    const programs = locatePostgres(dataFolder);
    if (!existsSync(programs.clusterFolder)) await initialise(programs, options.password, dataFolder);
    const running = await findRunning(programs.clusterFolder);
    const { port, pid } = running ?? (await start(programs, logPath));
    const urlOf = (database: string) =>
      `postgres://${SUPERUSER}:${encodeURIComponent(options.password)}@127.0.0.1:${port}/${database}`;
    await awaitConnections(urlOf('postgres'), pid, logPath);
    await ensureDatabase(urlOf('postgres'));
    return {
      url: urlOf(DATABASE),
      attached: running !== null,
      stop: () => withFileLock(lockPath, () => stopIfUnused(urlOf('postgres'), pid)),
    };
  });
}

/** Made beside its place and moved there when complete: a start that is cut off leaves no half cluster. */
async function initialise(programs: PostgresPrograms, password: string, dataFolder: string): Promise<void> {
  const { clusterFolder, user } = programs;
  const fresh = `${clusterFolder}.new`;
  const passwordFile = `${clusterFolder}.password`;
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { recursive: true, mode: 0o700 });
  const file = await open(passwordFile, 'w', 0o600);
  await file.writeFile(password);
  await file.close();
  if (user) {
    await chown(fresh, user.uid, user.gid);
    await chown(passwordFile, user.uid, user.gid);
  }
  try {
    await run(programs, programs.initdb, [
      `--pgdata=${fresh}`,
      `--username=${SUPERUSER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
    ]);
  } catch (error) {
    throw new StartupError(
      `PostgreSQL could not make its database in ${dataFolder}: ${messageOf(error).trim()}. ` +
        'Set DATA_DIR to a folder with room that this user owns, or DATABASE_URL to a PostgreSQL of your own.',
      { cause: error },
    );
  } finally {
    await rm(passwordFile, { force: true });
  }
  await rename(fresh, clusterFolder);
}

async function start(programs: PostgresPrograms, logPath: string): Promise<{ port: number; pid: number }> {
  const port = await freePort();
  const log = createWriteStream(logPath, { flags: 'a' });
  await new Promise((ready) => log.once('open', ready));
  // In a session of its own: Ctrl-C at the terminal is for the server, which then stops this in order.
  const child = spawn(
    programs.postgres,
    ['-D', programs.clusterFolder, '-p', String(port)].concat(
      settings({
        listen_addresses: '127.0.0.1',
        unix_socket_directories: '',
        max_connections: String(MAX_CONNECTIONS),
      }),
    ),
    { ...programs.user, detached: true, stdio: ['ignore', log, log], env: { ...process.env, LC_ALL: 'C' } },
  );
  const pid = await new Promise<number>((started, failed) => {
    child.once('error', failed);
    child.once('spawn', () => started(child.pid ?? 0));
  });
  child.unref();
  log.close();
  return { port, pid };
}

function settings(values: Record<string, string>): string[] {
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** The server that postmaster.pid names, if it lives. Its lines: pid, folder, start time, port, … */
async function findRunning(clusterFolder: string): Promise<{ port: number; pid: number } | null> {
  const text = await readFile(join(clusterFolder, 'postmaster.pid'), 'utf8').catch(() => '');
  const [pid = 0, , , port = 0] = text.split('\n').map(Number);
  if (pid <= 0 || port <= 0 || !isAlive(pid)) return null;
  // After a reboot the number may belong to anything. PostgreSQL itself copes with the stale file then.
  return (await isPostgres(pid)) ? { port, pid } : null;
}

async function isPostgres(pid: number): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  const name = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
  return name.trim() === 'postgres';
}

async function awaitConnections(url: string, pid: number, logPath: string): Promise<void> {
  const deadlineMs = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    try {
      return await withClient(url, async (sql) => void (await sql`SELECT 1`));
    } catch (error) {
      if (!isAlive(pid) || performance.now() > deadlineMs) {
        const tail = (await readFile(logPath, 'utf8').catch(() => ''))
          .trim()
          .split('\n')
          .slice(-3)
          .join(' | ');
        throw new StartupError(
          `The embedded PostgreSQL does not start: ${messageOf(error)}. Its log ends: ${tail}`,
          {
            cause: error,
          },
        );
      }
      await delay(POLL_MS);
    }
  }
}

async function ensureDatabase(url: string): Promise<void> {
  await withClient(url, async (sql) => {
    const existing = await sql`SELECT 1 FROM pg_database WHERE datname = ${DATABASE}`;
    if (existing.length === 0) await sql.unsafe(`CREATE DATABASE ${DATABASE}`);
  });
}

async function stopIfUnused(url: string, pid: number): Promise<void> {
  if (!isAlive(pid)) return;
  const others = await withClient(url, async (sql) => {
    const [row] = await sql<{ count: number }[]>`
      SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`;
    return row?.count ?? 0;
  });
  if (others > 0) return;
  // SIGINT is PostgreSQL's fast shutdown: open transactions are rolled back, everything is written.
  process.kill(pid, 'SIGINT');
  const deadlineMs = performance.now() + STOP_TIMEOUT_MS;
  while (isAlive(pid) && performance.now() < deadlineMs) await delay(POLL_MS);
}

async function withClient<T>(url: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => {}, connect_timeout: 5 });
  try {
    return await work(sql);
  } finally {
    await sql.end();
  }
}

async function run(programs: PostgresPrograms, program: string, args: string[]): Promise<void> {
  const child = spawn(program, args, { ...programs.user, stdio: ['ignore', 'ignore', 'pipe'] });
  let complaint = '';
  child.stderr.on('data', (chunk: Buffer) => {
    complaint = (complaint + chunk.toString()).slice(-2000);
  });
  const code = await new Promise<number | null>((done, failed) => {
    child.once('error', failed);
    child.once('close', done);
  });
  if (code !== 0) throw new Error(complaint || `${program} ended with code ${code}`);
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((listening) => probe.listen(0, '127.0.0.1', listening));
  const { port } = probe.address() as AddressInfo;
  await new Promise((closed) => probe.close(closed));
  return port;
}
