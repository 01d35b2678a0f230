/**
 * Keeps processes in other containers away from a data folder. PostgreSQL recognises a running server by its
 * process id, which says nothing in another container: each container would start a server of its own on the
 * same files, and destroy them.
 *
 * Every process of the machine that sees a folder can reach the sockets in it, and a socket is dead as soon
 * as its process has ended, in whatever way. So each process listens on a socket in the data folder, which
 * shows that it starts or uses the database. PostgreSQL listens on a socket in its own folder (cluster.ts),
 * which shows a server that a killed process has left behind. The name of a process's socket has its PID
 * namespace: within one namespace, PostgreSQL itself keeps servers apart.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, open, readdir, readlink, rm, stat, type FileHandle } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { codeOf } from '../../lib/errors.ts';
import { StartupError } from '../../lib/startupErrors.ts';

interface Use {
  end(): Promise<void>;
}

/** Errors of file systems without sockets, such as a folder of another operating system. */
const NO_SOCKETS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP']);
/** A new socket refuses connections until its process listens, so a younger one is not called dead. */
const YOUNG_MS = 10_000;

/**
 * Call it before the cluster is made, started or joined: if two processes announce themselves at once, at
 * least one sees the other.
 * @throws StartupError when a process in another container uses the folder
 */
export async function announceUse(dataFolder: string, onProgress: (message: string) => void): Promise<Use> {
  // Other systems have no such containers.
  if (process.platform !== 'linux') return { end: async () => {} };
  const namespace = await readNamespace();
  const folder = join(dataFolder, 'postgres.in-use');
  await mkdir(folder, { recursive: true });
  const own = `${namespace}-${randomUUID()}`;
  const server = await listen(folder, own);
  if (server === null) onProgress(`${dataFolder} has no sockets: let no other container use this folder`);
  const end = async () => {
    server?.close();
    await rm(join(folder, own), { force: true });
  };
  try {
    for (const name of await readdir(folder)) {
      const answer = await ask(folder, name);
      if (isUse(answer) && !name.startsWith(`${namespace}-`)) throw usedElsewhere(dataFolder, answer);
    }
  } catch (error) {
    await end();
    throw error;
  }
  return { end };
}

/** 'denied': another user's socket, alive or dead. 'silent': the socket's process may not listen yet. */
type Answer = 'alive' | 'denied' | 'silent' | 'removed';

const isUse = (answer: Answer) => answer === 'alive' || answer === 'denied';

function usedElsewhere(folder: string, answer: Answer): StartupError {
  return new StartupError(
    `The database in ${folder} is used by a process in another container. Two PostgreSQL servers on one folder destroy it: ` +
      'stop the other container first, give each a DATA_DIR of its own, or give both the DATABASE_URL of one PostgreSQL.' +
      (answer === 'denied'
        ? ' If no other one runs, the sockets there were left by another user: remove them.'
        : ''),
  );
}

/** The names of PostgreSQL's sockets in the folder of its cluster. */
const SERVER_SOCKET = /^\.s\.PGSQL\.\d+$/;

/** Whether PostgreSQL can have a socket in its folder. */
export async function canListenIn(folder: string): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  const name = `probe-${randomUUID()}`;
  const server = await listen(folder, name);
  server?.close();
  await rm(join(folder, name), { force: true });
  return server !== null;
}

/**
 * @param isServedHere whether a process of this container serves the cluster; called after a server was seen
 * @throws StartupError when a server runs that only another container sees
 */
export async function requireNotServedElsewhere(
  folder: string,
  isServedHere: () => Promise<boolean>,
): Promise<void> {
  if (process.platform !== 'linux') return;
  for (const name of (await readdir(folder)).filter((one) => SERVER_SOCKET.test(one))) {
    const answer = await ask(folder, name);
    if (isUse(answer) && !(await isServedHere())) throw usedElsewhere(folder, answer);
    if (answer === 'removed') await rm(join(folder, `${name}.lock`), { force: true });
  }
}

/** "pid:[4026531836]": the number alone. */
async function readNamespace(): Promise<string> {
  return (await readlink('/proc/self/ns/pid')).replace(/\D/g, '');
}

/** Makes short paths through the open folder, because the path of a socket has 107 bytes at most. */
async function within<T>(folder: string, work: (pathOf: (name: string) => string) => Promise<T>): Promise<T> {
  const handle: FileHandle = await open(folder);
  try {
    return await work((name) => `/proc/self/fd/${handle.fd}/${name}`);
  } finally {
    await handle.close();
  }
}

/** Null if the file system has no sockets. @throws StartupError when the folder is another user's */
function listen(folder: string, name: string): Promise<Server | null> {
  return within(folder, async (pathOf) => {
    const server = createServer((socket) => socket.destroy());
    server.listen(pathOf(name));
    server.unref();
    try {
      await once(server, 'listening');
      return server;
    } catch (error) {
      const code = codeOf(error);
      if (NO_SOCKETS.has(code)) return null;
      throw new StartupError(
        `${folder} can't be written (${code}): let it belong to the user of the server.`,
        {
          cause: error,
        },
      );
    }
  });
}

/** Connects to a socket, which the system accepts even for a busy process. Removes dead sockets. */
function ask(folder: string, name: string): Promise<Answer> {
  return within(folder, async (pathOf) => {
    const socket = connect(pathOf(name));
    try {
      await once(socket, 'connect');
      return 'alive';
    } catch (error) {
      const code = codeOf(error);
      if (code === 'EACCES') return 'denied';
      if (code !== 'ECONNREFUSED' && code !== 'ENOENT') return 'alive';
      const { mtimeMs } = await stat(join(folder, name)).catch(() => ({ mtimeMs: 0 }));
      if (Date.now() - mtimeMs < YOUNG_MS) return 'silent';
      await rm(join(folder, name), { force: true, recursive: true });
      return 'removed';
    } finally {
      socket.destroy();
    }
  });
}
