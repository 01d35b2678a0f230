/**
 * The servers under test: each a process behind its own proxies, restarted when it ends, as by a supervisor.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { startDatabaseProxy, type DatabaseProxy } from '../devnet/databaseProxy.ts';
import { onlyWith } from '../devnet/runToEnd.ts';
import { startTcpProxy, type TcpProxy } from '../devnet/tcpProxy.ts';
import { freePort } from '../src/db/embedded/freePort.ts';

const RESTART_AFTER_MS = 200;
const POLL_INTERVAL_MS = 50;
const READY_ANSWER_MS = 5_000;
/** A server that is not ready by then, without any fault, is broken. */
const READY_TIMEOUT_MS = 5 * 60_000;

interface Outside {
  databaseUrl: string;
  /** The proxy to the provider; all servers share it, because the provider's name has its address. */
  rampUrl: string;
  /** Null on the embedded network. */
  nodeUrl: string | null;
  indexerUrl: string | null;
}

/** The connections of one server that faults affect. */
interface Links {
  client: TcpProxy;
  database: TcpProxy;
  node: TcpProxy | null;
  indexer: TcpProxy | null;
}

export interface ServerSlot {
  name: string;
  links: Links;
  /** Loses answers of commits. */
  commits: DatabaseProxy;
  /** The address for clients: the proxy's. */
  url: string;
  readonly starts: number;
  isRunning(): boolean;
  signal(name: NodeJS.Signals): void;
  /** Ends the process by this signal, and keeps it down until `start`. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** @param crashAt the crash point at which this process dies */
  start(crashAt?: string): void;
  /** Null when it is ready. */
  whyNotReady(): Promise<string | null>;
  ready(): Promise<void>;
  close(): Promise<void>;
}

interface SlotOptions {
  name: string;
  outside: Outside;
  /** All settings, without those of its connections. */
  environment: () => Readonly<Record<string, string>>;
  logFile: string;
  /** Compiled. */
  program: string;
}

export async function openServerSlot({
  name,
  outside,
  environment,
  logFile,
  program,
}: SlotOptions): Promise<ServerSlot> {
  const port = await freePort();
  const commits = await startDatabaseProxy(outside.databaseUrl);
  const client = await startTcpProxy({ host: '127.0.0.1', port });
  const database = await proxyTo(commits.url);
  const node = outside.nodeUrl === null ? null : await proxyTo(outside.nodeUrl);
  const indexer = outside.indexerUrl === null ? null : await proxyTo(outside.indexerUrl);
  const url = `http://127.0.0.1:${client.port}`;
  let child: ChildProcess | null = null;
  let isWanted = false;
  let starts = 0;

  const settings = () => ({
    ...environment(),
    PORT: String(port),
    PUBLIC_URL: url,
    DATABASE_URL: through(database, outside.databaseUrl),
    RAMP_URL: outside.rampUrl,
    ...(node && outside.nodeUrl !== null && { LEDGER_RPC_URL: through(node, outside.nodeUrl) }),
    ...(indexer && outside.indexerUrl !== null && { INDEXER_URL: through(indexer, outside.indexerUrl) }),
  });

  async function launch(crashAt: string | undefined): Promise<void> {
    const log = await open(logFile, 'a');
    if (isWanted && child === null) {
      starts++;
      const started = spawn(process.execPath, [program], {
        env: onlyWith({ ...settings(), ...(crashAt !== undefined && { CRASH_AT: crashAt }) }),
        stdio: ['ignore', log.fd, log.fd],
      });
      child = started;
      started.once('exit', () => {
        child = null;
        if (isWanted) setTimeout(() => void launch(undefined), RESTART_AFTER_MS);
      });
    }
    await log.close();
  }

  const slot: ServerSlot = {
    name,
    links: { client, database, node, indexer },
    commits,
    url,
    get starts() {
      return starts;
    },
    isRunning: () => child !== null,
    signal: (signal) => void child?.kill(signal),
    async end(signal) {
      isWanted = false;
      const ending = child;
      if (ending === null) return;
      const ended = once(ending, 'exit');
      // A stopped process does not receive SIGTERM.
      ending.kill('SIGCONT');
      ending.kill(signal);
      await ended;
    },
    start(crashAt) {
      isWanted = true;
      if (child === null) void launch(crashAt);
    },
    whyNotReady: () =>
      fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(READY_ANSWER_MS) }).then(
        async (answer) => (answer.ok ? null : await answer.text()),
        (error: unknown) => String(error),
      ),
    async ready() {
      const giveUpAt = Date.now() + READY_TIMEOUT_MS;
      for (;;) {
        const why = await slot.whyNotReady();
        if (why === null) return;
        if (Date.now() > giveUpAt) throw new Error(`${name} is not ready (${logFile}): ${why}`);
        await delay(POLL_INTERVAL_MS);
      }
    },
    async close() {
      await slot.end('SIGKILL');
      for (const proxy of [client, database, node, indexer, commits]) await proxy?.close();
    },
  };
  return slot;
}

export function proxyTo(address: string): Promise<TcpProxy> {
  const { hostname: host, port } = new URL(address);
  return startTcpProxy({ host, port: Number(port) });
}

export function through({ port }: TcpProxy, address: string): string {
  const url = new URL(address);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return url.href;
}
