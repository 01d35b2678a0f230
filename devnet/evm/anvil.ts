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
  /** A free port by default. */
  port?: number;
  chainId?: number;
  /**
   * `each-transaction` (the default) closes a block per transaction. A number of seconds closes a block at
   * every interval, empty or not. `on-demand` closes blocks only when `mine` is called.
   */
  mining?: 'each-transaction' | 'on-demand' | { everySeconds: number };
  /** The number of funded accounts, 10 by default. */
  accounts?: number;
  /** The node reads the chain from this file if it exists, and writes the chain to it when it stops. */
  stateFile?: string;
  /** The time of the first block in Unix seconds; the present by default. */
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
  /**
   * One JSON-RPC call, also of anvil's own methods (`anvil_…`, `evm_…`).
   * @throws Error with the node's message
   */
  rpc: RpcCall;
  /** Closes this many blocks now. */
  mine(blocks?: number): Promise<void>;
  /** Moves the time of further blocks ahead, and closes one, so that the new time is visible. */
  advanceTime(seconds: number): Promise<void>;
  /** From now on the node accepts requests without answering, as if it hung; `resume` ends that. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** kill -9: loses everything that is not in the state file. */
  crash(): Promise<void>;
  /** Stops the node in order; the state file is then complete. */
  stop(): Promise<void>;
  /** Starts again on the same port, after `stop` or `crash`. */
  start(): Promise<void>;
}

const DEFAULT_CHAIN_ID = 31_337;
const DEFAULT_ACCOUNTS = 10;
const ANY_PORT = 0;

/** The public mnemonic of development nodes, worthless elsewhere. */
const MNEMONIC = 'test test test test test test test test test test test junk';
const KEEPER = fileURLToPath(new URL('anvilKeeper.mjs', import.meta.url));
/** A start takes about 200 ms; the rest is for a busy machine. */
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
  /** Resolves when the signal is delivered, or the node has ended. */
  signal(name: NodeJS.Signals): Promise<void>;
  end(): void;
  ended: Promise<null>;
}

/** Resolves when the node listens. */
async function launch(flags: string[]): Promise<Running> {
  // The keeper has its own session, so that Ctrl-C in a terminal does not stop the node while other programs
  // use it.
  const keeper = spawn(process.execPath, [KEEPER, anvilBinary(), ...flags], {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let complaint = '';
  keeper.stderr.on('data', (chunk: Buffer) => {
    if (complaint.length < MAX_ERROR_CHARACTERS) complaint += chunk.toString();
  });
  // Writing to a keeper that has just ended may fail; `ended` reports the end.
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
  // The node's log names every call, and nothing reads it.
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

/** Lets a chain from a state file continue at the time of the wall clock, and mine as configured. */
async function goOn(url: string, mining: AnvilOptions['mining'] = 'each-transaction'): Promise<void> {
  const latest = (await sendRpc(url, 'eth_getBlockByNumber', ['latest', false])) as { timestamp: string };
  const aheadSeconds = Number(latest.timestamp) - Math.floor(Date.now() / 1000);
  // One second more: if the node cuts its time to whole seconds, the next block would be a second older than
  // the latest one.
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
    // The `finalized` block is two epochs behind.
    'slots-in-an-epoch': 1,
    'block-time': typeof mining === 'object' && stateFile === undefined ? mining.everySeconds : undefined,
    state: stateFile,
    timestamp: options.genesisTimestamp,
  };
  return [
    // With a state file, which does not keep the clock, mining starts when the clock is set.
    ...(mining === 'on-demand' || stateFile !== undefined ? ['--no-mining'] : []),
    // Keeps older finalized blocks readable.
    ...(stateFile === undefined ? [] : ['--preserve-historical-states']),
    ...Object.entries(valued).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name}`, String(value)],
    ),
    ...(options.flags ?? []),
  ];
}

/** The binary in the platform's own package; the wrapper would be one more process to stop. */
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

/** Every node has the same accounts. */
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

/** Derives by BIP-39 and BIP-44. Node hashes in a millisecond; viem takes thirty, for each account again. */
function deriveParent(): HDKey {
  const seed = pbkdf2Sync(MNEMONIC, 'mnemonic', 2048, 64, 'sha512');
  return HDKey.fromMasterSeed(seed).derive("m/44'/60'/0'/0");
}

function urlOf(port: number): string {
  return `http://127.0.0.1:${port}`;
}
