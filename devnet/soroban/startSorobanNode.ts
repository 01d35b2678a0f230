/**
 * A Stellar network of one node in this process: the real Soroban host behind stellar-rpc's JSON-RPC over HTTP.
 *
 * Its ledgers close at an interval, or only by hand. Its clock starts at `startsAt` and moves by `closeSeconds` with
 * each ledger, whatever the wall clock says.
 */
import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { createEngine } from './engine.ts';
import type { Engine, Protocol } from './engine.ts';
import { startHttpServer } from './httpServer.ts';

export interface SorobanNodeOptions {
  /** The test network's by default. */
  passphrase?: string;
  /** 28 by default. */
  protocolVersion?: Protocol;
  /** 127.0.0.1 by default. */
  host?: string;
  /** A free one by default. */
  port?: number;
  /** Milliseconds between ledgers, 5,000 by default; null closes none by itself. */
  closeEveryMs?: number | null;
  /** Seconds of the ledger's clock between ledgers, 5 by default. */
  closeSeconds?: number;
  /** Unix seconds of the first ledger; now by default. */
  startsAt?: number;
  startsAtLedger?: number;
  /** How far back look-ups reach, 17,280 ledgers (a day) by default. */
  retentionLedgers?: number;
  /** How long what contracts write lives at first; as on the test network by default. */
  minPersistentTtlLedgers?: number;
  maxTransactionsPerLedger?: number;
  /** After so many ledgers a waiting transaction is dropped, 4 by default. */
  queueLedgers?: number;
  /** Whether diagnostic events are switched on, which alone tell a landed contract error's number; they are. */
  diagnostics?: boolean;
  /** Where the network is kept between runs: read at the start if it is there, written at the end. */
  stateFile?: string;
  /** Told of what no client should be able to cause. */
  onError?: (error: unknown) => void;
}

export interface LedgerPosition {
  sequence: number;
  /** Unix seconds. */
  closedAt: number;
}

export interface SorobanNode {
  readonly url: string;
  readonly passphrase: string;
  /** @throws RpcError */
  call(method: string, params?: unknown): unknown;
  latest(): LedgerPosition;
  closeLedger(): LedgerPosition;
  /** As if so many ledgers without transactions had closed. */
  skipLedgers(count: number): LedgerPosition;
  /** The next ledger closes so many seconds later. */
  passTime(seconds: number): void;
  /** Ledgers close only by hand. */
  hold(): void;
  /** Ledgers close by themselves again. */
  release(): void;
  /** The minimum bid in stroops per operation, from now on. */
  setInclusionPrice(stroops: number): void;
  /** The node answers from so many ledgers ago; transactions sent to it get through. */
  setLag(ledgers: number): void;
  /** Hashes of the transactions that wait for a ledger. */
  waiting(): string[];
  dropWaiting(hash: string): boolean;
  /** Creates an account with 10,000 lumens at once, or adds to it. */
  fund(address: string, stroops?: bigint): void;
  /**
   * Carries out a host function (base64 XDR) without transaction, signature and fee.
   * @returns its value in base64 XDR
   * @throws RpcError what the host refuses
   */
  invoke(hostFunction: string, source?: string): string;
  /**
   * Ends the life of an entry (its key in base64 XDR) now; with `evicted`, so long ago that the node no longer reports when.
   * @throws RpcError when there is no such entry that can be archived
   */
  archive(key: string, how?: 'evicted'): void;
  /** Removes an entry without a trace. */
  remove(key: string): void;
  /** Writes the network into its file. */
  save(): Promise<void>;
  stop(): Promise<void>;
}

const TEST_NETWORK = 'Test SDF Network ; September 2015';
const DEFAULT_FUNDS = 100_000_000_000n;
const DEFAULT_CLOSE_MS = 5_000;

export async function startSorobanNode(options: SorobanNodeOptions = {}): Promise<SorobanNode> {
  const { passphrase = TEST_NETWORK, host = '127.0.0.1', port = 0, stateFile } = options;
  const onError = options.onError ?? ((error) => console.error(error));
  const engine = await createEngine(options.protocolVersion ?? 28, {
    ...options,
    passphrase,
    startsAt: options.startsAt ?? Math.floor(Date.now() / 1000),
    seed: randomBytes(32).toString('hex'),
  });
  if (stateFile !== undefined) await load(engine, stateFile);
  const friendbot = { url: '' };
  const server = await startHttpServer({
    host,
    port,
    onError,
    befriend: (address) => (engine.call('control.befriend', { address }) as { hash: string | null }).hash,
    ask: (method, params) => {
      if (method.startsWith('control.')) return REFUSED_CONTROL;
      return engine.ask(method, method === 'getNetwork' ? { friendbotUrl: friendbot.url } : params);
    },
  });
  friendbot.url = `${server.url}/friendbot`;
  const everyMs = options.closeEveryMs === undefined ? DEFAULT_CLOSE_MS : options.closeEveryMs;
  const closing = closingByInterval(engine, everyMs, onError);
  const save = async () => {
    if (stateFile === undefined) return;
    const text = JSON.stringify(engine.call('control.save'));
    // A process that ends while it writes leaves the earlier file.
    await writeFile(`${stateFile}.new`, text);
    await rename(`${stateFile}.new`, stateFile);
  };
  return {
    url: server.url,
    passphrase,
    call: engine.call,
    ...controlsOf(engine),
    ...closing,
    save,
    async stop() {
      closing.hold();
      await server.stop();
      await save();
    },
  };
}

/** Controls are for those who run the network: a page in a browser could reach the port. */
const REFUSED_CONTROL = JSON.stringify({ error: { code: -32_601, message: 'method not found' } });

async function load(engine: Engine, stateFile: string): Promise<void> {
  let text: string;
  try {
    text = await readFile(stateFile, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  engine.call('control.load', JSON.parse(text));
}

function controlsOf(engine: Engine) {
  const control = (name: string, params: object = {}) => engine.call(`control.${name}`, params);
  const position = (name: string, params?: object) => control(name, params) as LedgerPosition;
  return {
    latest: () => position('position'),
    closeLedger: () => position('closeLedger'),
    skipLedgers: (count: number) => position('skipLedgers', { count }),
    passTime: (seconds: number) => void control('passTime', { seconds }),
    setInclusionPrice: (stroops: number) => void control('setInclusionPrice', { stroops }),
    setLag: (ledgers: number) => void control('setLag', { ledgers }),
    waiting: () => control('waiting') as string[],
    dropWaiting: (hash: string) => control('dropWaiting', { hash }) as boolean,
    fund: (address: string, stroops = DEFAULT_FUNDS) =>
      void control('fund', { address, stroops: String(stroops) }),
    invoke: (hostFunction: string, source?: string) =>
      (control('invoke', { function: hostFunction, source }) as { value: string }).value,
    archive: (key: string, how?: 'evicted') => void control('archive', { key, evicted: how === 'evicted' }),
    remove: (key: string) => void control('remove', { key }),
  };
}

function closingByInterval(engine: Engine, everyMs: number | null, onError: (error: unknown) => void) {
  let timer: NodeJS.Timeout | null = null;
  const hold = () => {
    if (timer) clearInterval(timer);
    timer = null;
  };
  const close = () => {
    try {
      engine.call('control.closeLedger');
    } catch (error) {
      hold();
      onError(error);
    }
  };
  const release = () => {
    if (everyMs !== null && !timer) timer = setInterval(close, everyMs);
  };
  release();
  return { hold, release };
}
