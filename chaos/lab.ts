/**
 * The laboratory: PostgreSQL, a ledger network, a ramp provider and servers, each a process or a program of
 * its own, with a proxy on every connection between them.
 *
 *   clients ─▶ proxy ─▶ server ─▶ proxy ─▶ (loses commits) ─▶ PostgreSQL
 *                         ├────▶ proxy ─▶ ramp provider    (one for all servers)
 *                         ├────▶ proxy ─▶ (lies) ─▶ node   (EVM, Stellar)
 *                         └────▶ proxy ─▶ indexer    (EVM, Stellar)
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import postgres from 'postgres';
import { compiledPath, compilePrograms, programsFolderOf } from '../devnet/compilePrograms.ts';
import { startPrivatePostgres, type PrivatePostgres } from '../devnet/privatePostgres.ts';
import { runToEnd } from '../devnet/runToEnd.ts';
import { RAMP_API_KEY, startRampServer, type RampServer } from '../devnet/rampServer.ts';
import type { TcpProxy } from '../devnet/tcpProxy.ts';
import { embeddedHolder, type Holder } from '../devnet/world.ts';
import type { Role } from '../src/identity/roles.ts';
import { signToken } from '../src/identity/tokens.ts';
import { systemClock } from '../src/lib/clock.ts';
import { generateSecretKey } from '../src/lib/strkey.ts';
import { startEvmNode } from './evmNode.ts';
import type { LabNode } from './labNode.ts';
import type { Random } from './schedule.ts';
import { openServerSlot, proxyTo, through, type ServerSlot } from './servers.ts';
import { startStellarNode } from './stellarNode.ts';

export const LAB_NETWORKS = ['embedded', 'evm', 'stellar'] as const;
export type LabNetwork = (typeof LAB_NETWORKS)[number];

export interface Lab {
  network: LabNetwork;
  slots: readonly ServerSlot[];
  postgres: PrivatePostgres;
  /** Null on the embedded network. */
  node: LabNode | null;
  ramp: RampServer;
  rampLink: TcpProxy;
  callbackSecret: string;
  /** Has receipts at an address of their own, and signs. */
  holder: Holder;
  /** Wrong results that were seen while faults went on, for readers. */
  readonly broken: string[];
  /** The number of restores of an older copy: each loses the answers given after the copy was made. */
  readonly epoch: number;
  /** The time at which the copy of the last restore was made. */
  readonly restoredTo: number;
  isOver(): boolean;
  bearer(role: Role, subject: string): Promise<string>;
  /**
   * Limits the size of files that PostgreSQL's processes may write, and ends all sessions, so that new ones
   * have the limit. The laboratory's own session opens first, because the first session after a crash writes
   * a file that is larger than the limit.
   */
  fillDatabase(maxFileBytes: number): Promise<void>;
  setReadOnly(isReadOnly: boolean): Promise<void>;
  /** Copies the database as it is now, in place of the previous copy. */
  copyDatabase(): Promise<void>;
  /** Restores the last copy. @returns its age */
  restoreCopy(): Promise<string>;
  sql(): postgres.Sql;
  reconcile(): Promise<{ exitCode: number; output: string }>;
  close(options: { keepLogs: boolean }): Promise<void>;
  folder: string;
}

const SERVER = 'chaos/server.ts';
const RECONCILE = 'src/cli/reconcile.ts';
const ISSUER = 'asset-token-marketplace';
/** Longer than any run by any server's clock, and shorter than the longest accepted lifetime. */
const TOKEN_SECONDS = 4 * 24 * 3600;
/** Larger than every lease, interval and validity. */
const MAX_CLOCK_ERROR_MS = 2 * 24 * 3_600_000;
const BEYOND_ONE_MACHINE = '1000000000';
/** Longer than a recovery of the database. */
const MAX_TRIES = 60;
const RETRY_MS = 500;
const RECONCILE_TIMEOUT_MS = 180_000;

interface LabOptions {
  network: LabNetwork;
  servers: number;
  random: Random;
  isOver: () => boolean;
}

export async function openLab({ network, servers, random, isOver }: LabOptions): Promise<Lab> {
  const folder = await mkdtemp(join(tmpdir(), 'chaos-'));
  const database = await startPrivatePostgres(
    network === 'embedded' ? ['platform', 'embedded-network'] : ['platform'],
  );
  const programs = programsFolderOf(`chaos-${process.pid}`);
  await compilePrograms(programs, [SERVER, RECONCILE]);
  const ramp = await startRampServer({ returnsAmounts: true });
  const rampLink = await proxyTo(ramp.url);
  const rampUrl = through(rampLink, ramp.url);
  const node = await startNode(network);
  const randomBytes = (size: number) => Uint8Array.from({ length: size }, () => random.below(256));
  const secret = () => Buffer.from(randomBytes(32)).toString('base64');
  const holder = (await node?.createHolder()) ?? embeddedHolder(generateSecretKey(randomBytes));
  const callbackSecret = secret();
  const authSecret = secret();
  let epoch = 0;
  let copiedAt = 0;
  let restoredTo = 0;

  const settings = {
    APP_SECRET: secret(),
    AUTH_SECRETS: authSecret,
    RAMP_PROVIDER: 'http',
    RAMP_NAME: 'devnet',
    RAMP_API_KEY,
    RAMP_CALLBACK_SECRETS: callbackSecret,
    // Faults are long beside these, so that what a mutation has not seen by then is asked for by id.
    MUTATION_WAIT_MS: '3000',
    APPROVALS: 'required',
    APPROVAL_ABOVE_TONNES: '100000',
    FEED_COMPARE_INTERVAL_MS: '2000',
    RATE_LIMIT_ADDRESS_PER_MINUTE: BEYOND_ONE_MACHINE,
    RATE_LIMIT_CALLER_PER_MINUTE: BEYOND_ONE_MACHINE,
    RATE_LIMIT_MUTATIONS_PER_MINUTE: BEYOND_ONE_MACHINE,
    MAX_CPU_PERCENT_PER_ADDRESS: '1000000',
    LOG_LEVEL: 'warn',
    ...(node?.settings ?? { LEDGER_NETWORK: 'embedded', LEDGER_SECRET_KEY: generateSecretKey(randomBytes) }),
  };
  const environment = (name: string) => ({
    ...settings,
    DATA_DIR: join(folder, name),
    // The logs of a restored copy go on from another place than those that were published.
    TRANSPARENCY_LOG_ORIGIN: `laboratory-${epoch}`,
  });
  const slots: ServerSlot[] = [];
  for (let i = 0; i < servers; i++) {
    const name = `server ${i + 1}`;
    const clockAheadMs = random.below(2 * MAX_CLOCK_ERROR_MS) - MAX_CLOCK_ERROR_MS;
    slots.push(
      await openServerSlot({
        name,
        outside: {
          databaseUrl: database.url,
          rampUrl,
          nodeUrl: node?.url ?? null,
          indexerUrl: node?.indexerUrl ?? null,
        },
        environment: () => ({ ...environment(name), CLOCK_AHEAD_MS: String(clockAheadMs) }),
        logFile: join(folder, `${name}.log`),
        program: compiledPath(programs, SERVER),
      }),
    );
  }

  /** Repeats until it succeeds: the database may be recovering, and must not stay as a fault left it. */
  const asOwner = async (work: (sql: postgres.Sql) => Promise<unknown>): Promise<void> => {
    for (let tries = 1; ; tries++) {
      const sql = postgres(database.url, { max: 1, onnotice: () => {}, connect_timeout: 5 });
      try {
        return void (await work(sql));
      } catch (error) {
        if (tries === MAX_TRIES) throw error;
        await delay(RETRY_MS);
      } finally {
        await sql.end({ timeout: 1 });
      }
    }
  };
  const endSessions = (sql: postgres.Sql) => sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()`;

  return {
    network,
    slots,
    postgres: database,
    node,
    ramp,
    rampLink,
    callbackSecret,
    holder,
    broken: [],
    folder,
    get epoch() {
      return epoch;
    },
    get restoredTo() {
      return restoredTo;
    },
    isOver,
    bearer: (role, subject) =>
      signToken({
        secret: authSecret,
        issuer: ISSUER,
        audience: ISSUER,
        subject,
        roles: [role],
        expiresInSeconds: TOKEN_SECONDS,
        now: systemClock.now,
      }),
    fillDatabase: (maxFileBytes) =>
      asOwner(async (sql) => {
        await sql`SELECT 1`;
        await database.limitFiles(maxFileBytes);
        await endSessions(sql);
      }),
    setReadOnly: (isReadOnly) =>
      asOwner(async (sql) => {
        const name = new URL(database.url).pathname.slice(1);
        const value = isReadOnly ? 'on' : 'off';
        // This session itself may be a read-only one.
        await sql.unsafe(
          `BEGIN READ WRITE; ALTER DATABASE ${name} SET default_transaction_read_only = ${value}; COMMIT`,
        );
        await endSessions(sql);
      }),
    async copyDatabase() {
      const at = Date.now();
      await database.crash();
      await database.saveCopy();
      await database.start();
      copiedAt = at;
    },
    async restoreCopy() {
      await Promise.all(slots.map((slot) => slot.end('SIGKILL')));
      await database.crash();
      await database.restore();
      await database.start();
      restoredTo = copiedAt;
      epoch++;
      for (const slot of slots) slot.start();
      return `${Date.now() - copiedAt} ms old`;
    },
    sql: () => postgres(database.url, { max: 1, onnotice: () => {} }),
    reconcile() {
      const connections = { DATABASE_URL: database.url, RAMP_URL: rampUrl, PUBLIC_URL: slots[0]?.url ?? '' };
      const settings = { ...environment('reconcile'), ...connections };
      return runToEnd(compiledPath(programs, RECONCILE), settings, RECONCILE_TIMEOUT_MS);
    },
    async close({ keepLogs }) {
      await Promise.all(slots.map((slot) => slot.close()));
      await node?.close();
      await rampLink.close();
      await ramp.close();
      await rm(programs, { recursive: true, force: true });
      await database.stop();
      if (!keepLogs) await rm(folder, { recursive: true, force: true });
    },
  };
}

function startNode(network: LabNetwork): Promise<LabNode> | null {
  switch (network) {
    case 'embedded':
      return null;
    case 'evm':
      return startEvmNode();
    case 'stellar':
      return startStellarNode();
  }
}
