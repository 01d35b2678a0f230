/**
 * The embedded PostgreSQL: a real server from npm, for machines that have none.
 *
 *   no cluster ──initdb──▶ stopped ──first one in──▶ running ──last one out──▶ stopped
 *                             ▲                       │  ▲
 *                             └───────crash───────────┘  └─ left behind by kill -9: joined by the next one in
 *
 * Several server processes may share one cluster. The second one joins, the last one to leave stops it, and
 * PostgreSQL itself keeps them apart: see cluster.ts for starts and presence.ts for stops. No process owns
 * the cluster: an owner that ends while others attach to it would stop their database, and a process that
 * took over would have to prove that the owner is dead. A lock that PostgreSQL itself holds for each process
 * needs no such proof.
 */
import { createHmac } from 'node:crypto';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../lib/errors.ts';
import { makeFolder } from '../../lib/makeFolder.ts';
import { StartupError } from '../../lib/startupErrors.ts';
import { findRunning, openCluster, startServer, stopServer, SUPERUSER } from './cluster.ts';
import type { Cluster } from './cluster.ts';
import { announceUse } from './otherContainers.ts';
import { join, type Credentials, type Presence } from './presence.ts';

export interface EmbeddedPostgres {
  /** Address with the application's role, which can't change the rules of the database. */
  url: string;
  /** Address with the role that owns everything, for migrations. */
  ownerUrl: string;
  /** Whether a server that was already running is used. */
  attached: boolean;
  /** Stops the server, unless other processes still use it. Close what you opened on `url` first. */
  stop(): Promise<void>;
}

const DATABASE = 'marketplace';
const APPLICATION_ROLE = 'marketplace_application';
/** Another process's start or stop, and its recovery, take seconds. */
const PATIENCE_MS = 60_000;
const RETRY_MS = 200;
/** Another program may take the port between choosing and using it, but hardly this often in a row. */
const MAX_START_ATTEMPTS = 4;

const INVALID_PASSWORD = '28P01';

/** @throws StartupError, or the system's own error when the folder can't be written. */
export async function openEmbeddedPostgres(options: {
  dataDir: string;
  password: string;
  /** Called before each action that takes seconds, with its description. */
  onProgress?: (message: string) => void;
}): Promise<EmbeddedPostgres> {
  const { onProgress = () => {} } = options;
  const dataFolder = resolve(options.dataDir);
  await makeFolder(dataFolder);
  const use = await announceUse(dataFolder, onProgress);
  try {
    const server = await openServer(dataFolder, options.password, onProgress);
    return {
      ...server,
      async stop() {
        try {
          await server.stop();
        } finally {
          await use.end();
        }
      },
    };
  } catch (error) {
    await use.end();
    throw error;
  }
}

async function openServer(
  dataFolder: string,
  password: string,
  onProgress: (message: string) => void,
): Promise<EmbeddedPostgres> {
  const cluster = await openCluster(dataFolder, password, onProgress);
  const urlOf = (user: Credentials, port: number, database: string) =>
    `postgres://${user.name}:${encodeURIComponent(user.password)}@127.0.0.1:${port}/${database}`;
  const owner = { name: SUPERUSER, password };
  const application = { name: APPLICATION_ROLE, password: applicationPassword(password) };

  const { port, presence, attached } = await joinOrStart(
    cluster,
    (port) => urlOf(owner, port, 'postgres'),
    onProgress,
  );
  const stop = () => presence.leave(() => stopServer(cluster));
  try {
    await presence.ensureRole(application);
    await presence.ensureDatabase(DATABASE);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: urlOf(application, port, DATABASE), ownerUrl: urlOf(owner, port, DATABASE), attached, stop };
}

/** Derives the application's password, from which the owner's does not follow. */
function applicationPassword(ownerPassword: string): string {
  return createHmac('sha256', ownerPassword).update(APPLICATION_ROLE).digest('hex');
}

/** Repeats while others start or stop the same cluster, until this process has joined. */
async function joinOrStart(
  cluster: Cluster,
  urlOf: (port: number) => string,
  onProgress: (message: string) => void,
): Promise<{ port: number; presence: Presence; attached: boolean }> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  let starts = 0;
  let attached = true;
  let lastError: unknown = 'it does not say why';
  while (performance.now() < deadlineMs) {
    const running = await findRunning(cluster);
    try {
      if (running)
        return {
          port: running.port,
          presence: await join(urlOf(running.port), () => requireRunning(cluster, running.port)),
          attached,
        };
      starts += 1;
      onProgress(`starting PostgreSQL in ${cluster.folder}`);
      await startServer(cluster);
      attached = false;
    } catch (error) {
      lastError = error;
      await refuseHopeless(cluster, error, starts);
      await delay(RETRY_MS);
    }
  }
  throw new StartupError(
    `The embedded PostgreSQL in ${cluster.folder} can't be used: ${messageOf(lastError)}.`,
    { cause: lastError },
  );
}

/** @throws StartupError */
async function requireRunning(cluster: Cluster, port: number): Promise<void> {
  if ((await findRunning(cluster))?.port === port) return;
  throw new StartupError(
    `The embedded PostgreSQL in ${cluster.folder} has ended. See whether its disk has room, and what its server.log says; then start again.`,
  );
}

/** Throws errors that a retry won't fix. */
async function refuseHopeless(cluster: Cluster, error: unknown, starts: number): Promise<void> {
  if ((error as { code?: unknown }).code === INVALID_PASSWORD) {
    throw new StartupError(
      `The database in ${cluster.folder} was made with another password than secrets.json has now. Restore that ` +
        'file from a backup, or remove DATA_DIR to start anew.',
      { cause: error },
    );
  }
  // Another process that starts the same cluster was first: the server will run soon.
  const isStartedElsewhere = (await findRunning(cluster)) !== null;
  if (starts >= MAX_START_ATTEMPTS && !isStartedElsewhere) throw error;
}
