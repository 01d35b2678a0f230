/**
 * A real EVM node of a test's own: anvil, on a free port of loopback, with funded accounts.
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { createRequire } from 'node:module';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { bytesToHex, type Address, type Hex } from 'viem';
import { mnemonicToAccount } from 'viem/accounts';
import { freePort } from '../../src/db/embedded/freePort.ts';
import { sendRpc, type RpcCall } from './rpc.ts';

export interface AnvilOptions {
  /** A free one by default. */
  port?: number;
  chainId?: number;
  /**
   * `each-transaction` (the default) closes a block as soon as one comes; a number of seconds closes one at every
   * interval, empty or not; `on-demand` only when `mine` is called.
   */
  mining?: 'each-transaction' | 'on-demand' | { everySeconds: number };
  /** How many funded accounts, 10 by default. */
  accounts?: number;
  /** The chain is read from it if it exists, and written to it when the node ends in order, and now and then. */
  stateFile?: string;
  /** How far the `finalized` block lies behind: two of these. 1 by default, so that finality comes soon. */
  slotsInAnEpoch?: number;
  /** Seconds since 1970 of the first block; the present by default. */
  genesisTimestamp?: number;
  /** What else anvil should be started with, such as `--block-base-fee-per-gas`, `100`. */
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
  /** Moves the time of all further blocks ahead and closes one, so that it is seen at once. */
  advanceTime(seconds: number): Promise<void>;
  /** The node takes requests and answers none, like one that hangs; `resume` ends it. */
  pause(): void;
  resume(): void;
  /** kill -9: what it did not write to its state file is gone. */
  crash(): Promise<void>;
  /** Ends in order; the state file is then complete. */
  stop(): Promise<void>;
  /** After `stop` or `crash`: once more, on the same port. */
  start(): Promise<void>;
}

export const DEFAULT_CHAIN_ID = 31_337;

/** The mnemonic of development nodes since their beginning: known to everybody, and worth nothing elsewhere. */
const MNEMONIC = 'test test test test test test test test test test test junk';
const KEEPER = fileURLToPath(new URL('anvilKeeper.mjs', import.meta.url));
/** It is up in about 100 ms; a busy machine gets its time. */
const START_TIMEOUT_MS = 30_000;
const LOOK_EVERY_MS = 50;
/** A state file is also written while the node runs: a crash loses no more than this. */
const STATE_INTERVAL_SECONDS = 5;
/** Another program can take a free port in the moment between finding and using it. */
const MAX_PORT_TRIES = 3;
const MAX_ERROR_CHARACTERS = 4_000;

type Keeper = ChildProcessByStdio<Writable, null, Readable>;

export async function startAnvil(options: AnvilOptions = {}): Promise<Anvil> {
  const chainId = options.chainId ?? DEFAULT_CHAIN_ID;
  let running: Running;
  let port: number;
  for (let tries = 1; ; tries++) {
    port = options.port ?? (await freePort());
    try {
      running = await launch(flagsFor(options, chainId, port), port, chainId);
      break;
    } catch (error) {
      if (options.port !== undefined || tries === MAX_PORT_TRIES || !isPortTaken(error)) throw error;
    }
  }
  const url = urlOf(port);
  const rpc: RpcCall = (method, params) => sendRpc(url, method, params);
  return {
    url,
    port,
    chainId,
    accounts: accountsOf(options.accounts ?? 10),
    rpc,
    mine: async (blocks = 1) => void (await rpc('anvil_mine', [`0x${blocks.toString(16)}`])),
    async advanceTime(seconds) {
      await rpc('evm_increaseTime', [seconds]);
      await rpc('evm_mine');
    },
    pause: () => running.signal('SIGSTOP'),
    resume: () => running.signal('SIGCONT'),
    async crash() {
      running.signal('SIGKILL');
      await running.ended;
    },
    async stop() {
      running.end();
      await running.ended;
    },
    async start() {
      running = await launch(flagsFor(options, chainId, port), port, chainId);
    },
  };
}

/** Whether a start failed because another program listens on the port. */
export function isPortTaken(error: unknown): boolean {
  return error instanceof Error && /address already in use/i.test(error.message);
}

interface Running {
  signal(name: NodeJS.Signals): void;
  end(): void;
  ended: Promise<void>;
}

/** Resolves when the node answers. */
async function launch(flags: string[], port: number, chainId: number): Promise<Running> {
  // A session of its own: a terminal's Ctrl-C must not take the node from under those who still use it.
  const keeper: Keeper = spawn(process.execPath, [KEEPER, anvilBinary(), ...flags], {
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  let complaint = '';
  keeper.stderr.on('data', (chunk: Buffer) => {
    if (complaint.length < MAX_ERROR_CHARACTERS) complaint += chunk.toString();
  });
  // Writing to a keeper that has just ended is no news: `ended` tells.
  keeper.stdin.on('error', () => {});
  let isEnded = false;
  const ended = new Promise<void>((resolve) => {
    keeper.once('close', () => {
      isEnded = true;
      resolve();
    });
  });
  const running: Running = {
    signal: (name) => void keeper.stdin.write(`${name}\n`),
    end: () => void keeper.stdin.end(),
    ended,
  };
  const deadlineMs = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    if (isEnded) throw new Error(`anvil did not start on port ${port}: ${complaint.trim()}`);
    if (performance.now() > deadlineMs) {
      running.end();
      throw new Error(
        `anvil did not answer on port ${port} within ${START_TIMEOUT_MS / 1000} s. ${complaint}`,
      );
    }
    // Another program's node on this port may answer before ours complains: ours is asked for by its chain.
    const answer = await sendRpc(urlOf(port), 'eth_chainId').catch(() => null);
    if (answer !== null && !isEnded && Number(answer) === chainId) return running;
    await delay(LOOK_EVERY_MS);
  }
}

function flagsFor(options: AnvilOptions, chainId: number, port: number): string[] {
  const { mining = 'each-transaction', stateFile } = options;
  const valued = {
    host: '127.0.0.1',
    port,
    'chain-id': chainId,
    mnemonic: MNEMONIC,
    accounts: options.accounts ?? 10,
    'slots-in-an-epoch': options.slotsInAnEpoch ?? 1,
    'block-time': typeof mining === 'object' ? mining.everySeconds : undefined,
    state: stateFile,
    'state-interval': stateFile === undefined ? undefined : STATE_INTERVAL_SECONDS,
    timestamp: options.genesisTimestamp,
  };
  return [
    '--quiet',
    ...(mining === 'on-demand' ? ['--no-mining'] : []),
    ...Object.entries(valued).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name}`, String(value)],
    ),
    ...(options.flags ?? []),
  ];
}

/** The package for this platform; the wrapper in front of it would be one more process to end. */
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
  const accountAt = (addressIndex: number): AnvilAccount => {
    const account = mnemonicToAccount(MNEMONIC, { addressIndex });
    return {
      address: account.address,
      secretKey: bytesToHex(account.getHdKey().privateKey ?? new Uint8Array()),
    };
  };
  return [accountAt(0), ...Array.from({ length: count - 1 }, (_, index) => accountAt(index + 1))];
}

function urlOf(port: number): string {
  return `http://127.0.0.1:${port}`;
}
