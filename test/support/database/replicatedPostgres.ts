/**
 * A primary and a synchronous standby for tests that kill and promote them. They run the programs of the
 * embedded PostgreSQL: the standby begins as a copy of the stopped primary's folder, which needs no
 * pg_basebackup.
 */
import { execFile } from 'node:child_process';
import { appendFile, chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { newClusterUser, preparePrograms, type Programs } from '../../../src/db/embedded/binaries.ts';
import { isAlive } from '../../../src/db/embedded/cluster.ts';
import { freePort } from '../../../src/db/embedded/freePort.ts';
import { migrate } from '../../../src/db/migrate.ts';
import { memoryFolder } from '../../../devnet/memoryFolder.ts';
import { serverPidOf } from '../../../devnet/serverPid.ts';

const DATABASE = 'marketplace';
const CREDENTIALS = 'postgres:test';
/** A killed process ends within moments. */
const MAX_LOOKS = 200;
const POLL_INTERVAL_MS = 50;

interface PostgresServer {
  port: number;
  /** The migrated database on this server alone. */
  url: string;
  start(): Promise<void>;
  /** Sends SIGKILL to all its processes. */
  kill(): Promise<void>;
  /** Stops in order: a primary waits until its standby has everything. */
  stop(): Promise<void>;
  /** Makes a standby the primary; resolves when the server takes writes. */
  promote(): Promise<void>;
}

export interface ReplicatedPostgres {
  first: PostgresServer;
  second: PostgresServer;
  /** URL of the database through both servers, in this order. */
  url(...servers: PostgresServer[]): string;
  remove(): Promise<void>;
}

const exec = promisify(execFile);

/** Says why replication can't be tested on this machine; null when it can. */
export async function reasonAgainstReplication(): Promise<string | null> {
  if (process.platform === 'win32') return 'a folder is copied with cp, and processes are found with pgrep';
  try {
    await preparePrograms(await newClusterUser());
    await exec('pgrep', ['-x', 'no-such-program']).catch((error: { code?: unknown }) => {
      if (error.code !== 1) throw error;
    });
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Starts the primary and the standby with a migrated database. */
export async function startReplicatedPostgres(): Promise<ReplicatedPostgres> {
  const folder = await mkdtemp(join(await memoryFolder(), 'marketplace-replicated-'));
  await chmod(folder, 0o755);
  const programs = await preparePrograms(await newClusterUser());
  const [first, second] = await Promise.all(
    ['first', 'second'].map((name) => makeServer(programs, join(folder, name))),
  );
  if (!first || !second) throw new Error('two servers were made');
  await initialise(programs, folder, join(folder, 'first'));
  await first.start();
  const administrator = postgres(first.url.replace(`/${DATABASE}`, '/postgres'), { max: 1 });
  await administrator.unsafe(`CREATE DATABASE ${DATABASE}`);
  await administrator.end();
  await migrate(first.url, ['platform', 'embedded-network']);
  await first.stop();
  await exec('cp', ['-a', join(folder, 'first'), join(folder, 'second')]);
  await writeFile(join(folder, 'second', 'standby.signal'), '');
  await configure(join(folder, 'second'), {
    primary_conninfo: `host=127.0.0.1 port=${first.port} user=postgres password=test`,
    wal_retrieve_retry_interval: '200ms',
  });
  // From now on the primary confirms nothing that the standby has not written.
  await configure(join(folder, 'first'), { synchronous_standby_names: '*', synchronous_commit: 'on' });
  await Promise.all([first.start(), second.start()]);
  return {
    first,
    second,
    url: (...servers) =>
      `postgres://${CREDENTIALS}@${servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${DATABASE}`,
    async remove() {
      await Promise.all([first.kill(), second.kill()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function initialise(programs: Programs, folder: string, data: string): Promise<void> {
  const passwordFile = join(folder, 'password');
  await writeFile(passwordFile, 'test');
  await mkdir(data, { mode: 0o700 });
  const { user } = programs;
  if (user) await Promise.all([data, passwordFile].map((path) => chown(path, user.uid, user.gid)));
  await programs.run('initdb', [
    `--pgdata=${data}`,
    '--username=postgres',
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--no-sync',
  ]);
  await configure(data, {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'off',
    // Keeps the log for a standby that was down while the primary wrote.
    wal_keep_size: '256MB',
    max_connections: '100',
  });
}

async function configure(data: string, settings: Record<string, string>): Promise<void> {
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`);
  await appendFile(join(data, 'postgresql.conf'), lines.join(''));
}

async function makeServer(programs: Programs, data: string): Promise<PostgresServer> {
  const port = await freePort();
  const control = (action: string, ...args: string[]) =>
    programs.run('pg_ctl', [action, `--pgdata=${data}`, '--wait', '--timeout=60', ...args]);
  return {
    port,
    url: `postgres://${CREDENTIALS}@127.0.0.1:${port}/${DATABASE}`,
    start: () => control('start', `--log=${join(data, 'server.log')}`, `--options=-p ${port}`),
    stop: () => control('stop', '--mode=fast'),
    promote: () => control('promote'),
    async kill() {
      const postmaster = await serverPidOf(data);
      if (!isAlive(postmaster)) return;
      const { stdout } = await exec('pgrep', ['-P', String(postmaster)]).catch(() => ({ stdout: '' }));
      const pids = [postmaster, ...stdout.split('\n').filter(Boolean).map(Number)];
      for (const pid of pids) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
      for (let looks = 0; pids.some(isAlive); looks++) {
        if (looks === MAX_LOOKS) throw new Error(`PostgreSQL ${postmaster} did not end`);
        await delay(POLL_INTERVAL_MS);
      }
    },
  };
}
