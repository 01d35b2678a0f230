/**
 * A Stellar network of one node in this process: the real Soroban host behind stellar-rpc's JSON-RPC over
 * HTTP, in its own thread. A function here returns when the node has carried it out; HTTP clients block
 * nothing.
 *
 * Its ledgers close at an interval, or only on request. Its clock starts at `startsAt` and moves by
 * `closeSeconds` with each ledger, independently of the wall clock.
 */
import type { Protocol } from './engine.ts';
import { nodesThread } from './thread.ts';

export interface SorobanNodeOptions {
  /** The test network's by default. */
  passphrase?: string;
  /** 28 by default. */
  protocolVersion?: Protocol;
  /** A free port by default. */
  port?: number;
  /** Milliseconds between ledgers, 5,000 by default; with null, ledgers close only on request. */
  closeEveryMs?: number | null;
  /** Seconds of the ledger's clock between ledgers, 5 by default. */
  closeSeconds?: number;
  /** Unix seconds of the first ledger; now by default. */
  startsAt?: number;
  /** How many ledgers back look-ups reach, 17,280 (a day) by default. */
  retentionLedgers?: number;
  /** The first lifetime of the entries that contracts write; as on the test network by default. */
  minPersistentTtlLedgers?: number;
  /** A waiting transaction is dropped after this number of ledgers, 4 by default. */
  queueLedgers?: number;
  /**
   * Whether diagnostic events are on; true by default. Only they contain the number of a landed contract
   * error.
   */
  diagnostics?: boolean;
  /** Called with errors that no client should be able to cause. */
  onError?: (error: unknown) => void;
}

interface LedgerPosition {
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
  /** Acts as if this number of ledgers without transactions had closed. */
  skipLedgers(count: number): LedgerPosition;
  /** The next ledger closes this number of seconds later. */
  passTime(seconds: number): void;
  /** From now on, ledgers close only on request. */
  hold(): void;
  /** Ledgers close at the interval again. */
  release(): void;
  /** The minimum bid in stroops per operation, from now on. */
  setInclusionPrice(stroops: number): void;
  /** The node answers as it was this number of ledgers ago; transactions still get through. */
  setLag(ledgers: number): void;
  /** Hashes of the transactions that wait for a ledger. */
  waiting(): string[];
  dropWaiting(hash: string): boolean;
  /** Creates an account with 10,000 lumens immediately, or adds to its balance. */
  fund(address: string, stroops?: bigint): void;
  /**
   * Carries out a host function (base64 XDR) without transaction, signature and fee.
   * @returns the function's value in base64 XDR
   * @throws RpcError when the host refuses
   */
  invoke(hostFunction: string, source?: string): string;
  /**
   * Ends the life of an entry (its key in base64 XDR) now; with `evicted`, so long ago that the node no
   * longer reports when.
   * @throws RpcError when no such entry can be archived
   */
  archive(key: string, how?: 'evicted'): void;
  /** Removes an entry, without archiving it. */
  remove(key: string): void;
  stop(): Promise<void>;
}

const TEST_NETWORK = 'Test SDF Network ; September 2015';
const DEFAULT_FUNDS = 100_000_000_000n;
const DEFAULT_CLOSE_MS = 5_000;

let started = 0;

/** @throws when another program has the port */
export async function startSorobanNode(options: SorobanNodeOptions = {}): Promise<SorobanNode> {
  const { onError = (error) => console.error(error), closeEveryMs = DEFAULT_CLOSE_MS, ...given } = options;
  const { passphrase = TEST_NETWORK } = options;
  const node = (started += 1);
  const thread = nodesThread();
  thread.watch(node, onError);
  let url: string;
  try {
    url = (await thread.ask({ name: 'open', node, options: { ...given, passphrase } })) as string;
  } catch (error) {
    thread.watch(node, null);
    throw error;
  }
  const call: SorobanNode['call'] = (method, params = {}) =>
    thread.askNow({ name: 'call', node, method, params });
  const timer = createTimer(closeEveryMs, () => thread.ask({ name: 'closeInTime', node }), onError);
  timer.start();
  return {
    url,
    passphrase,
    call,
    ...controlsOf(call),
    hold() {
      timer.stop();
      thread.askNow({ name: 'hold', node });
    },
    release() {
      thread.askNow({ name: 'release', node });
      timer.start();
    },
    async stop() {
      timer.stop();
      try {
        await thread.ask({ name: 'stop', node });
      } finally {
        thread.watch(node, null);
      }
    },
  };
}

/**
 * Runs in the caller's thread, one ledger at a time. So on a busy machine the network's time waits for the
 * program that uses it, whose transactions would otherwise be too late.
 */
function createTimer(
  everyMs: number | null,
  close: () => Promise<unknown>,
  onError: (error: unknown) => void,
): { start: () => void; stop: () => void } {
  let timer: NodeJS.Timeout | null = null;
  let isClosing = false;
  const stop = () => {
    if (timer) clearInterval(timer);
    timer = null;
  };
  const closeOne = async () => {
    if (isClosing) return;
    isClosing = true;
    try {
      await close();
    } catch (error) {
      // After stop() the node does not exist any more.
      if (timer) onError(error);
      stop();
    } finally {
      isClosing = false;
    }
  };
  return {
    start() {
      if (everyMs !== null) timer ??= setInterval(() => void closeOne(), everyMs);
    },
    stop,
  };
}

function controlsOf(call: SorobanNode['call']) {
  const control = (name: string, params: object = {}) => call(`control.${name}`, params);
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
