/**
 * A real EVM node for one test: anvil, on a free loopback port, with funded accounts.
 */
import { spawn } from 'node:child_process';
import { pbkdf2Sync } from 'node:crypto';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { bytesToHex, type Address, type Hex } from 'viem';
import { HDKey, privateKeyToAccount } from 'viem/accounts';
import { sendRpc, type RpcCall } from './rpc.ts';

export interface AnvilOptions {
  /** A free one by default. */
  port?: number;
  chainId?: number;
  /**
   * `each-transaction` (the default) closes a block per transaction; a number of seconds closes one at every interval,
   * empty or not; `on-demand` only when `mine` is called.
   */
  mining?: 'each-transaction' | 'on-demand' | { everySeconds: number };
  /** How many funded accounts, 10 by default. */
  accounts?: number;
  /** The chain is read from it if it exists, and written to it when the node stops. */
  stateFile?: string;
  /** Seconds since 1970 of the first block; the present by default. */
  genesisTimestamp?: number;
  /** Further flags of anvil, such as `--block-base-fee-per-gas`, `100`. */
  flags?: readonly string[];
}

export interface AnvilAccount {
  address: Address;
  secretKey: Hex;
}

export interface Anvil {
  readonly url: string;
  readonly port: number;
  readonly chainId: number;
  readonly accounts: readonly [AnvilAccount, ...AnvilAccount[]];
  /** One JSON-RPC call; anvil's own ones (`anvil_…`, `evm_…`) too. @throws Error with the node's message */
  rpc: RpcCall;
  /** Closes this many blocks now. */
  mine(blocks?: number): Promise<void>;
  /** Moves the time of further blocks ahead and closes one, which makes it visible at once. */
  advanceTime(seconds: number): Promise<void>;
  /** The node accepts requests without answering, like one that hangs; `resume` ends it. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** kill -9: loses what is not in the state file. */
  crash(): Promise<void>;
  /** Stops in order; the state file is then complete. */
  stop(): Promise<void>;
  /** After `stop` or `crash`: starts again on the same port. */
  start(): Promise<void>;
}

const DEFAULT_CHAIN_ID = 31_337;
const DEFAULT_ACCOUNTS = 10;
const ANY_PORT = 0;

/** The mnemonic of development nodes: public, and worthless elsewhere. */
const MNEMONIC = 'test test test test test test test test test test test junk';
const KEEPER = fileURLToPath(new URL('anvilKeeper.mjs', import.meta.url));
/** It starts in about 200 ms; the rest is for a busy machine. */
const START_TIMEOUT_MS = 30_000;
const MAX_ERROR_CHARACTERS = 4_000;

export async function startAnvil(options: AnvilOptions = {}): Promise<Anvil> {
  const { chainId = DEFAULT_CHAIN_ID, accounts = DEFAULT_ACCOUNTS } = options;
  const open = async (atPort: number): Promise<Running> => {
    const running = await launch(flagsFor(options, atPort));
    if (options.stateFile !== undefined) await goOn(urlOf(running.port), options.mining);
    return running;
  };
  let running = await open(options.port ?? ANY_PORT);
  const { port } = running;
  const url = urlOf(port);
  const rpc: RpcCall = (method, params) => sendRpc(url, method, params);
  return {
    url,
    port,
    chainId,
    accounts: accountsOf(accounts),
    rpc,
    mine: async (blocks = 1) => void (await rpc('anvil_mine', [`0x${blocks.toString(16)}`])),
    async advanceTime(seconds) {
      await rpc('evm_increaseTime', [seconds]);
      await rpc('evm_mine');
    },
    pause: () => running.signal('SIGSTOP'),
    resume: () => running.signal('SIGCONT'),
    async crash() {
      await running.signal('SIGKILL');
      await running.ended;
    },
    async stop() {
      running.end();
      await running.ended;
    },
    async start() {
      running = await open(port);
    },
  };
}

/** Whether a start failed because another program listens on the port. */
export function isPortTaken(error: unknown): boolean {
  return error instanceof Error && /address already in use/i.test(error.message);
}

interface Running {
  port: number;
  /** Resolves when the signal was delivered, or the node has ended. */
  signal(name: NodeJS.Signals): Promise<void>;
  end(): void;
  ended: Promise<null>;
}

/** Resolves when the node listens. */
async function launch(flags: string[]): Promise<Running> {
  // A session of its own, so that a terminal's Ctrl-C does not stop the node while other programs use it.
  const keeper = spawn(process.execPath, [KEEPER, anvilBinary(), ...flags], {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let complaint = '';
  keeper.stderr.on('data', (chunk: Buffer) => {
    if (complaint.length < MAX_ERROR_CHARACTERS) complaint += chunk.toString();
  });
  // Writing to a keeper that has just ended may fail: `ended` reports it.
  keeper.stdin.on('error', () => {});
  const ended = once(keeper, 'close').then(() => null);
  const answers = createInterface({ input: keeper.stdout });
  const nextAnswer = () => Promise.race([once(answers, 'line').then(([line]) => String(line)), ended]);
  const end = () => void keeper.stdin.end();
  const told = await Promise.race([nextAnswer(), delay(START_TIMEOUT_MS, 'late', { ref: false })]);
  if (told === 'late') end();
  const port = Number(told);
  if (!port)
    throw new Error(`anvil did not start (${flags.join(' ')}): ${complaint.trim() || (told ?? 'it ended')}`);
  // Its log names every call and is not used.
  await sendRpc(urlOf(port), 'anvil_setLoggingEnabled', [false]);
  return {
    port,
    async signal(name) {
      const answered = nextAnswer();
      keeper.stdin.write(`${name}\n`);
      await answered;
    },
    end,
    ended,
  };
}

/** A chain from a state file continues with the wall clock's time, and then mines as configured. */
async function goOn(url: string, mining: AnvilOptions['mining'] = 'each-transaction'): Promise<void> {
  const latest = (await sendRpc(url, 'eth_getBlockByNumber', ['latest', false])) as { timestamp: string };
  const aheadSeconds = Number(latest.timestamp) - Math.floor(Date.now() / 1000);
  // One more: a node's time that was cut to whole seconds would let the next block be a second older than the latest one.
  if (aheadSeconds > 0) await sendRpc(url, 'evm_increaseTime', [aheadSeconds + 1]);
  if (mining === 'each-transaction') await sendRpc(url, 'evm_setAutomine', [true]);
  if (typeof mining === 'object') await sendRpc(url, 'evm_setIntervalMining', [mining.everySeconds]);
}

function flagsFor(options: AnvilOptions, port: number): string[] {
  const { mining = 'each-transaction', stateFile } = options;
  const valued = {
    host: '127.0.0.1',
    port,
    'chain-id': options.chainId ?? DEFAULT_CHAIN_ID,
    mnemonic: MNEMONIC,
    accounts: options.accounts ?? DEFAULT_ACCOUNTS,
    // The `finalized` block is two of these behind.
    'slots-in-an-epoch': 1,
    'block-time': typeof mining === 'object' && stateFile === undefined ? mining.everySeconds : undefined,
    state: stateFile,
    timestamp: options.genesisTimestamp,
  };
  return [
    // Mining starts when the clock is set, which a state file does not keep.
    ...(mining === 'on-demand' || stateFile !== undefined ? ['--no-mining'] : []),
    // Otherwise older finalized blocks could not be read.
    ...(stateFile === undefined ? [] : ['--preserve-historical-states']),
    ...Object.entries(valued).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name}`, String(value)],
    ),
    ...(options.flags ?? []),
  ];
}

/** The platform's own package; the wrapper would be one more process to stop. */
function anvilBinary(): string {
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const platform = `@foundry-rs/anvil-${process.platform}-${architecture}`;
  const name = process.platform === 'win32' ? 'anvil.exe' : 'anvil';
  const fromAnvil = createRequire(createRequire(import.meta.url).resolve('@foundry-rs/anvil/package.json'));
  try {
    return fromAnvil.resolve(`${platform}/bin/${name}`);
  } catch (error) {
    throw new Error(`anvil has no package for this platform (${platform}), or it is not installed`, {
      cause: error,
    });
  }
}

function accountsOf(count: number): [AnvilAccount, ...AnvilAccount[]] {
  return [accountAt(0), ...Array.from({ length: count - 1 }, (_, index) => accountAt(index + 1))];
}

/** The same in each node. */
const derived = new Map<number, AnvilAccount>();
let parent: HDKey | null = null;

function accountAt(addressIndex: number): AnvilAccount {
  const known = derived.get(addressIndex);
  if (known) return known;
  const secretKey = bytesToHex(
    (parent ??= deriveParent()).deriveChild(addressIndex).privateKey ?? new Uint8Array(),
  );
  const made = { address: privateKeyToAccount(secretKey).address, secretKey };
  derived.set(addressIndex, made);
  return made;
}

/** By BIP-39 and BIP-44. Node hashes in a millisecond what viem hashes in thirty, at each account anew. */
function deriveParent(): HDKey {
  const seed = pbkdf2Sync(MNEMONIC, 'mnemonic', 2048, 64, 'sha512');
  return HDKey.fromMasterSeed(seed).derive("m/44'/60'/0'/0");
}

function urlOf(port: number): string {
  return `http://127.0.0.1:${port}`;
}
