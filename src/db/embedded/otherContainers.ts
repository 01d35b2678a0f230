/**
 * Keeps processes in other containers away from a data folder. PostgreSQL recognises a running server by its process id, which says
 * nothing in another container: each would start a server of its own on the same files, and destroy them.
 *
 * Each process listens on a socket in the folder. Every process of the machine that sees the folder can reach it, and it is dead
 * at once when its process is, however that ends. Its name says in which PID namespace the process is: within one,
 * PostgreSQL itself keeps servers apart. Not seen is a server that a killed process has left behind in a container that goes
 * on; it looks at postmaster.pid each minute, and ends when that is no longer its own.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, open, readdir, readlink, rm, type FileHandle } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { StartupError } from '../../lib/startupErrors.ts';

export interface Use {
  end(): Promise<void>;
}

/**
 * Before the cluster is made, started or joined: of two processes that announce themselves at once, at least one sees the other.
 * @throws StartupError when a process in another container uses the folder
 */
export async function announceUse(dataFolder: string): Promise<Use> {
  // Elsewhere there are no such containers.
  if (process.platform !== 'linux') return { end: async () => {} };
  const namespace = await readNamespace();
  const socketsFolder = join(dataFolder, 'postgres.in-use');
  await mkdir(socketsFolder, { recursive: true });
  // The path of a socket has 107 bytes at most; by way of the open folder it is short.
  const handle = await open(socketsFolder);
  try {
    const own = `${namespace}-${randomUUID()}`;
    const server = await listen(handle, own);
    if (await isUsedElsewhere(handle, socketsFolder, namespace)) {
      server?.close();
      throw new StartupError(
        `The database in ${dataFolder} is used by a process in another container. Two PostgreSQL servers on one folder destroy it: ` +
          'stop the other container first, give each a DATA_DIR of its own, or give both the DATABASE_URL of one PostgreSQL.',
      );
    }
    return {
      async end() {
        server?.close();
        await rm(join(socketsFolder, own), { force: true });
      },
    };
  } finally {
    await handle.close();
  }
}

/** "pid:[4026531836]": the number alone. */
async function readNamespace(): Promise<string> {
  return (await readlink('/proc/self/ns/pid')).replace(/\D/g, '');
}

const pathIn = ({ fd }: FileHandle, name: string) => `/proc/self/fd/${fd}/${name}`;

/** Null on a file system without sockets, such as a folder of another operating system: there nothing can be seen. */
async function listen(folder: FileHandle, name: string): Promise<Server | null> {
  const server = createServer((socket) => socket.destroy());
  server.listen(pathIn(folder, name));
  server.unref();
  try {
    await once(server, 'listening');
    return server;
  } catch {
    return null;
  }
}

/** Removes the sockets of processes that have ended. */
async function isUsedElsewhere(handle: FileHandle, folder: string, namespace: string): Promise<boolean> {
  for (const name of await readdir(folder)) {
    if (!(await isAlive(pathIn(handle, name)))) await rm(join(folder, name), { force: true });
    else if (!name.startsWith(`${namespace}-`)) return true;
  }
  return false;
}

/** The system accepts for a process, also while that is busy. */
function isAlive(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      resolve(true);
      socket.destroy();
    });
    // All else, such as a full queue or a missing right, is said of a process that is there.
    socket.once('error', ({ code }: NodeJS.ErrnoException) =>
      resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT'),
    );
  });
}
