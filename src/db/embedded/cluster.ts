/**
 * One PostgreSQL cluster on disk: made once, started, found when it runs, stopped.
 *
 * Two processes may do any of this at once. Two facts keep them apart: a new cluster appears whole under its
 * name or not at all, and PostgreSQL lets one server run per cluster.
 */
import { execFile } from 'node:child_process';
import {
  chown,
  link,
  lstat,
  mkdtemp,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { readIfThere } from '../../lib/readIfThere.ts';
import { codeOf, messageOf, succeeds } from '../../lib/errors.ts';
import { StartupError } from '../../lib/startupErrors.ts';
import { canEnter, makeSystemFolder, newClusterUser, preparePrograms } from './binaries.ts';
import type { OsUser, Programs } from './binaries.ts';
import { freePort } from './freePort.ts';
import { canListenIn, requireNotServedElsewhere } from './otherContainers.ts';
import { checkHome, homeFileOf, noteHome } from './outsideCluster.ts';

export interface Cluster {
  /** The cluster's real folder, without links. */
  folder: string;
  programs: Programs;
}

interface RunningServer {
  pid: number;
  port: number;
}

export const SUPERUSER = 'marketplace';

/** Given at each start, so that a cluster made by an older version gets these settings, too. */
const SERVER_SETTINGS = {
  listen_addresses: '127.0.0.1',
  // Enough for several instances with their pools.
  max_connections: '200',
  // Logs starts, stops and crashes. Failed statements are reported by their senders. In this file, the rows
  // that they name would be one more copy of confidential data, in a file that grows for ever.
  log_min_messages: 'log',
  log_checkpoints: 'off',
};
const LOG_FILE = 'server.log';
/** Recovery after a crash replays a log of bounded size; it takes seconds. */
const START_TIMEOUT_SECONDS = 60;
/** A fast shutdown rolls back open transactions and writes the rest. */
const STOP_TIMEOUT_MS = 20_000;
const STOP_POLL_MS = 25;

/** Finds the cluster of this data folder, or makes it. @throws StartupError */
export async function openCluster(
  dataFolder: string,
  password: string,
  onProgress: (message: string) => void,
): Promise<Cluster> {
  const place = join(dataFolder, 'postgres');
  const existing = await findFolder(place);
  if (existing === null) {
    onProgress(`making a PostgreSQL database in ${place}: once, and it may take half a minute`);
  }
  const user = existing === null ? await newClusterUser() : await ownerOf(existing);
  const programs = await preparePrograms(user);
  if (existing === null) await createCluster(programs, dataFolder, place, password);
  const folder = await realpath(place);
  await checkHome(folder, dataFolder, onProgress);
  return { folder, programs };
}

/** Root runs a cluster as the user that made it; every other user runs it as itself. */
async function ownerOf(folder: string): Promise<OsUser> {
  if (process.getuid?.() !== 0) return null;
  const { uid, gid } = await stat(folder);
  return uid === 0 ? newClusterUser() : { uid, gid };
}

async function findFolder(place: string): Promise<string | null> {
  try {
    return await realpath(place);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    if (!(await succeeds(lstat(place)))) return null;
    throw new StartupError(
      `${place} is a link to a database that is gone. Bring it back, or remove ${dataFolderOf(place)} to start anew.`,
    );
  }
}

function dataFolderOf(place: string): string {
  return join(place, '..');
}

/**
 * The cluster is made under another name and moved to its place when complete: an interrupted start leaves no
 * half cluster, and when two processes start at once, the second to finish uses the first one's cluster.
 */
async function createCluster(
  programs: Programs,
  dataFolder: string,
  place: string,
  password: string,
): Promise<void> {
  const isHere = await canEnter(programs.user, dataFolder);
  const fresh = isHere
    ? await mkdtemp(join(dataFolder, 'postgres.new-'))
    : await makeSystemFolder('cluster-');
  try {
    await initialise(programs, fresh, password);
    if (!isHere) await noteHome(fresh, dataFolder);
    await (isHere ? rename(fresh, place) : symlink(fresh, place));
  } catch (error) {
    await rm(fresh, { recursive: true, force: true });
    await rm(homeFileOf(fresh), { force: true });
    const code = codeOf(error);
    if (code === 'EEXIST' || code === 'ENOTEMPTY') return;
    throw new StartupError(
      `PostgreSQL could not make its database in ${dataFolder}: ${messageOf(error)}. ` +
        'Set DATA_DIR to a folder with room that this user owns, or DATABASE_URL to a PostgreSQL of your own.',
      { cause: error },
    );
  }
}

async function initialise(programs: Programs, folder: string, password: string): Promise<void> {
  const { user } = programs;
  // initdb reads the password from a file, beside the folder that has to be empty.
  const passwordFile = `${folder}.password`;
  try {
    await writeFile(passwordFile, password, { mode: 0o600 });
    if (user) await Promise.all([folder, passwordFile].map((path) => chown(path, user.uid, user.gid)));
    await programs.run('initdb', [
      `--pgdata=${folder}`,
      `--username=${SUPERUSER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
    ]);
  } finally {
    await rm(passwordFile, { force: true });
  }
}

/**
 * The server of this cluster, if it runs. A postmaster.pid that names no such process is left from a crash or
 * a reboot: PostgreSQL ignores it when no process has that number, but refuses to start when another process
 * has it.
 */
export async function findRunning(cluster: Cluster): Promise<RunningServer | null> {
  const { text, pid, port } = await readPidFile(cluster);
  if (!isAlive(pid)) return null;
  if (!(await isServer(cluster, pid))) {
    await requireNotServedElsewhere(cluster.folder, () => isServedHere(cluster));
    await removeStale(pidFileOf(cluster), text);
    return null;
  }
  return port > 0 ? { pid, port } : null;
}

const pidFileOf = ({ folder }: Cluster) => join(folder, 'postmaster.pid');

/** Reads the lines pid, folder, start time, port, …; the port is missing while the server starts. */
async function readPidFile(cluster: Cluster): Promise<{ text: string; pid: number; port: number }> {
  const text = (await readIfThere(pidFileOf(cluster))) ?? '';
  const [pid = 0, , , port = 0] = text.split('\n').map(Number);
  return { text, pid, port };
}

/** Whether a process that is alive is the server of this cluster. */
async function isServer({ folder }: Cluster, pid: number): Promise<boolean> {
  const command = await commandOf(pid);
  return command === null || command.includes(folder);
}

/** Whether a process of this container serves the cluster, also while it starts. */
async function isServedHere(cluster: Cluster): Promise<boolean> {
  const { pid } = await readPidFile(cluster);
  return isAlive(pid) && (await isServer(cluster, pid));
}

/** Removes the file only if it has this text: a server that starts at this moment keeps its own. */
async function removeStale(path: string, text: string): Promise<void> {
  const aside = `${path}.${process.pid}`;
  try {
    await rename(path, aside);
    if ((await readFile(aside, 'utf8')) !== text) await link(aside, path);
  } catch (error) {
    const code = codeOf(error);
    // Another process removed or replaced it first.
    if (code !== 'ENOENT' && code !== 'EEXIST') throw error;
  } finally {
    await rm(aside, { force: true });
  }
}

/** Whether the process runs. */
export function isAlive(pid: number): boolean {
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // A process of another user is alive too.
    return codeOf(error) === 'EPERM';
  }
}

/** The command line of a process; empty when it has ended, null where it can't be known. */
async function commandOf(pid: number): Promise<string | null> {
  if (process.platform === 'win32') return null;
  if (process.platform === 'linux') return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  const ps = promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)]);
  return ps.then(
    ({ stdout }) => stdout,
    () => '',
  );
}

/** Resolves when the server takes connections. @throws StartupError with the end of its log */
export async function startServer(cluster: Cluster): Promise<void> {
  await requireNotServedElsewhere(cluster.folder, () => isServedHere(cluster));
  const log = join(cluster.folder, LOG_FILE);
  await rm(log, { force: true });
  // A socket in the cluster's folder makes the server visible to other containers.
  const sockets = { unix_socket_directories: (await canListenIn(cluster.folder)) ? '.' : '' };
  const settings = Object.entries({ ...SERVER_SETTINGS, ...sockets }).map(
    ([name, value]) => `-c ${name}=${value}`,
  );
  // Another program may take the port before PostgreSQL does; then the start fails and is tried again.
  const port = await freePort();
  try {
    // pg_ctl gives the server a session of its own: Ctrl-C at the terminal reaches only this process, which
    // then stops the server in order.
    await cluster.programs.run('pg_ctl', [
      'start',
      `--pgdata=${cluster.folder}`,
      `--log=${log}`,
      '--wait',
      `--timeout=${START_TIMEOUT_SECONDS}`,
      `--options=-p ${port} ${settings.join(' ')}`,
    ]);
  } catch (error) {
    const lastLines = await readFile(log, 'utf8').then(
      (text) => text.trim().split('\n').slice(-3).join(' | '),
      () => messageOf(error),
    );
    throw new StartupError(
      `The embedded PostgreSQL in ${cluster.folder} does not start: ${lastLines}. See whether its disk has room, and what ${log} says.`,
      { cause: error },
    );
  }
}

/** Resolves when this server has ended; another process may start the next one at once. */
export async function stopServer(cluster: Cluster): Promise<void> {
  const running = await findRunning(cluster);
  if (!running) return;
  // pg_ctl's own waiting can't distinguish this server from the next.
  await cluster.programs.run('pg_ctl', ['stop', `--pgdata=${cluster.folder}`, '--mode=fast', '--no-wait']);
  const deadlineMs = performance.now() + STOP_TIMEOUT_MS;
  while ((await findRunning(cluster))?.pid === running.pid) {
    if (performance.now() > deadlineMs) {
      throw new Error(`PostgreSQL (process ${running.pid}) did not stop in ${STOP_TIMEOUT_MS} ms`);
    }
    await delay(STOP_POLL_MS);
  }
}
