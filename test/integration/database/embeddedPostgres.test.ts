/**
 * The life of the embedded PostgreSQL: kept data, take-over after kill -9, several processes on one folder,
 * and failures explained in one sentence.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  chown,
  cp,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openEmbeddedPostgres, type EmbeddedPostgres } from '../../../src/db/embedded/embeddedPostgres.ts';
import { migrate } from '../../../src/db/migrate.ts';
import { succeeds } from '../../../src/lib/errors.ts';
import { explainStartupError } from '../../../src/startup/explainStartupError.ts';
import { pathOf } from '../../support/run/programs.ts';
import { memoryFolder } from '../../../devnet/memoryFolder.ts';

const PASSWORD = 'p@ss/word of the tests';
const HOLDER = pathOf('test/support/database/embeddedPostgresHolder.ts');

let folder: string;
let dataDir: string;
const opened: EmbeddedPostgres[] = [];
/** The folder of a stopped server. Most tests begin with a copy, which takes a fraction of initdb's time. */
let made: string;

beforeAll(async () => {
  made = await makeFolder();
  dataDir = join(made, 'data');
  await stop(await open());
});
afterAll(() => rm(made, { recursive: true, force: true }));
beforeEach(async () => {
  folder = await makeFolder();
  dataDir = join(folder, 'data');
  await promisify(execFile)('cp', ['-a', join(made, 'data'), dataDir]);
});
afterEach(async () => {
  for (const server of opened.splice(0)) await server.stop();
  await rm(folder, { recursive: true, force: true });
});

async function makeFolder(): Promise<string> {
  const path = await mkdtemp(join(await memoryFolder(), 'marketplace-postgres-'));
  // As root, PostgreSQL runs as another user, who must be able to reach the folder.
  await chmod(path, 0o755);
  return path;
}

const useNewFolder = () => void (dataDir = join(folder, 'new'));

async function open(): Promise<EmbeddedPostgres> {
  const server = await openEmbeddedPostgres({ dataDir, password: PASSWORD });
  opened.push(server);
  return server;
}

async function stop(server: EmbeddedPostgres): Promise<void> {
  opened.splice(opened.indexOf(server), 1);
  await server.stop();
}

async function query(url: string, statement: string): Promise<postgres.Row[]> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return [...(await sql.unsafe(statement))];
  } finally {
    await sql.end();
  }
}

const pidFile = () => join(dataDir, 'postgres', 'postmaster.pid');
const isRunning = () => succeeds(stat(pidFile()));

describe('one process', () => {
  it('finds its data again after a stop, and leaves no server behind', async () => {
    useNewFolder();
    const first = await open();
    expect(first.attached).toBe(false);
    await query(first.ownerUrl, 'CREATE TABLE kept (value int); INSERT INTO kept VALUES (7)');
    await stop(first);
    expect(await isRunning()).toBe(false);

    const second = await open();
    expect(await query(second.ownerUrl, 'SELECT value FROM kept')).toEqual([{ value: 7 }]);
    expect(second.attached).toBe(false);
  });

  it('listens on loopback alone, and only for who knows the password', async () => {
    const { url } = await open();
    expect(await query(url, 'SHOW listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
    const stranger = new URL(url);
    stranger.password = 'guess';
    await expect(query(stranger.href, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
  });

  it('gives the application a role that can not change the rules, also where the database was made without it', async () => {
    const first = await open();
    await query(first.ownerUrl, 'DROP ROLE marketplace_application');
    await stop(first);
    const { url, ownerUrl } = await open();
    await migrate(ownerUrl, ['platform', 'embedded-network'], new URL(url).username);
    expect(await query(url, 'SELECT count(*)::int AS transfers FROM transfers')).toEqual([{ transfers: 0 }]);
    for (const forbidden of [
      'ALTER TABLE transfers DISABLE TRIGGER ALL',
      'SET session_replication_role = replica',
      'TRUNCATE audit_entries',
      'CREATE TABLE mine (id int)',
    ]) {
      await expect(query(url, forbidden)).rejects.toMatchObject({ code: '42501' });
    }
  });

  it('starts in spite of a postmaster.pid whose number another process has now', async () => {
    await stop(await open());
    const { uid, gid } = await stat(join(dataDir, 'postgres'));
    // PostgreSQL takes only a process of its own user for another PostgreSQL.
    const bystander = spawn('sleep', ['60'], { uid, gid, cwd: '/', stdio: 'ignore' });
    await once(bystander, 'spawn');
    try {
      const lines = [bystander.pid, join(dataDir, 'postgres'), 1, 5432, '', '127.0.0.1', '1 1', 'ready'];
      await writeFile(pidFile(), `${lines.join('\n')}\n`);
      await chown(pidFile(), uid, gid);
      const server = await open();
      expect(server.attached).toBe(false);
      expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    } finally {
      bystander.kill('SIGKILL');
    }
  });
});

describe('several processes on one folder', () => {
  it('takes over a server that kill -9 left behind, and then stops it', async () => {
    const holder = spawn(process.execPath, [HOLDER, dataDir, PASSWORD], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [url] = (await once(createInterface(holder.stdout), 'line')) as [string];
    await query(url, 'CREATE TABLE kept (value int); INSERT INTO kept VALUES (7)');
    const serverPid = (await readFile(pidFile(), 'utf8')).split('\n')[0];
    holder.kill('SIGKILL');
    await once(holder, 'exit');

    const server = await open();
    expect(server).toMatchObject({ ownerUrl: url, attached: true });
    expect((await readFile(pidFile(), 'utf8')).split('\n')[0]).toBe(serverPid);
    expect(await query(server.ownerUrl, 'SELECT value FROM kept')).toEqual([{ value: 7 }]);
    await stop(server);
    expect(await isRunning()).toBe(false);
  });

  it('lets all that start at once on a new folder share one server; the last one out stops it', async () => {
    useNewFolder();
    const servers = await Promise.all([open(), open(), open()]);
    expect(new Set(servers.map(({ url }) => url)).size).toBe(1);
    expect((await readdir(dataDir)).filter((name) => name !== 'postgres.in-use')).toEqual(['postgres']);
    for (const server of servers) {
      expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      await stop(server);
    }
    expect(await isRunning()).toBe(false);
  });

  it('never takes the database from one that comes while another leaves', async () => {
    let staying = await open();
    for (let round = 0; round < 12; round++) {
      // The delays spread over the time that a stop takes.
      const [coming] = await Promise.all([delay(round * 15).then(open), stop(staying)]);
      expect(await query(coming.url, `SELECT ${round} AS round`)).toEqual([{ round }]);
      staying = coming;
    }
  });
});

// A user other than root runs PostgreSQL as itself, and can enter its own folder.
describe.runIf(process.getuid?.() === 0)("a data folder that PostgreSQL's user can't enter", () => {
  const clusters: string[] = [];
  afterEach(async () => {
    for (const server of opened.splice(0)) await server.stop();
    for (const cluster of clusters.splice(0)) {
      await rm(cluster, { recursive: true, force: true });
      await rm(`${cluster}.data-dir`, { force: true });
    }
  });

  it('is said to have its database elsewhere, which no copy of it opens', async () => {
    useNewFolder();
    await chmod(folder, 0o700);
    const said: string[] = [];
    const openSaying = async (place: string) => {
      said.length = 0;
      const onProgress = (message: string) => void said.push(message);
      const server = await openEmbeddedPostgres({ dataDir: place, password: PASSWORD, onProgress });
      opened.push(server);
      return server;
    };
    const first = await openSaying(dataDir);
    const cluster = await realpath(join(dataDir, 'postgres'));
    clusters.push(cluster);
    expect(cluster).not.toContain(folder);
    const whereItIs = `the database of ${dataDir} is in ${cluster}: a backup needs both`;
    expect(said).toContain(whereItIs);

    const copy = join(folder, 'copy');
    // Sockets can't be copied.
    const filter = (path: string) => !path.endsWith('.in-use');
    await cp(dataDir, copy, { recursive: true, verbatimSymlinks: true, filter });
    await expect(openSaying(copy)).rejects.toThrow(`which is the database of ${dataDir}`);
    await stop(first);
    await stop(await openSaying(dataDir));
    expect(said).toContain(whereItIs);

    // The message tells an operator who has moved the folder to do this.
    const moved = join(folder, 'moved');
    await rename(dataDir, moved);
    await expect(openSaying(moved)).rejects.toThrow(`write its new path into ${cluster}.data-dir`);
    await writeFile(`${cluster}.data-dir`, `${moved}\n`);
    await openSaying(moved);
  });
});

describe.runIf(process.platform === 'linux')('a process in another container', () => {
  it('keeps this one away from its data for as long as it lives', async () => {
    await stop(await open());
    // The other process's socket, named as in another PID namespace.
    const socket = join(dataDir, 'postgres.in-use', '1-another');
    const program = `require('net').createServer().listen(${JSON.stringify(socket)}, () => console.log())`;
    const other = spawn(process.execPath, ['-e', program]);
    await once(other.stdout, 'data');
    await expect(open()).rejects.toThrow(`${dataDir} is used by a process in another container`);
    expect(await isRunning()).toBe(false);

    other.kill('SIGKILL');
    await once(other, 'exit');
    await stop(await open());
  });

  it('keeps this one away from a server that it has left behind', async () => {
    const server = await open();
    // In another PID namespace no process has that number.
    const pid = await readFile(pidFile(), 'utf8');
    await writeFile(pidFile(), pid.replace(/^\d+/, '4194304'));
    await expect(open()).rejects.toThrow(`${dataDir}/postgres is used by a process in another container`);
    await writeFile(pidFile(), pid);
    expect((await open()).attached).toBe(true);
    await stop(server);
  });

  it('is not taken for one that has ended, whose sockets are removed', async () => {
    await stop(await open());
    const [ours, theirs] = ['postgres/.s.PGSQL.7', 'postgres.in-use/1-another'].map((path) =>
      join(dataDir, path),
    );
    const program = `for (const path of ${JSON.stringify([ours, theirs])}) require('net').createServer().listen(path, () => console.log())`;
    const other = spawn(process.execPath, ['-e', program]);
    await once(other.stdout, 'data');
    other.kill('SIGKILL');
    await once(other, 'exit');
    const longAgo = new Date(Date.now() - 60_000);
    for (const path of [ours, theirs]) await utimes(path ?? '', longAgo, longAgo);
    await stop(await open());
    expect(await readdir(join(dataDir, 'postgres.in-use'))).toEqual([]);
    expect((await readdir(join(dataDir, 'postgres'))).filter((name) => name.startsWith('.s.'))).toEqual([]);
  });
});

describe('what can not work', () => {
  it('names the folder that can not be made', async () => {
    const file = join(folder, 'file');
    await writeFile(file, '');
    dataDir = join(file, 'data');
    const error: unknown = await open().catch((thrown: unknown) => thrown);
    const sentence = explainStartupError(error);
    expect(sentence).toContain(dataDir);
    expect(sentence).toContain('DATA_DIR');
  });

  it('says that the secrets do not belong to the database', async () => {
    await open();
    await expect(openEmbeddedPostgres({ dataDir, password: 'another' })).rejects.toThrow(/secrets\.json/);
  });

  it('says why PostgreSQL does not start', async () => {
    await stop(await open());
    await writeFile(join(dataDir, 'postgres', 'postgresql.conf'), 'nonsense = 1\n');
    await expect(open()).rejects.toThrow(/does not start: .*nonsense/);
  });
});
