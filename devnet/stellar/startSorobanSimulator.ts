/**
 * A Stellar network of one node for tests: real JSON-RPC over HTTP, real XDR, real signatures, the contracts of
 * the deployed interface, and faults on demand. `rpc.Server` of the SDK works with it as it is (`allowHttp`).
 *
 * Its ledgers close at an interval, or only by hand; its clock starts at `startsAt` and moves by `closeSeconds`
 * with each ledger, whatever the wall clock says.
 */
import { randomBytes } from 'node:crypto';
import { Networks, xdr } from '@stellar/stellar-sdk';
import { newAccount, sequenceOf } from './soroban/accounts.ts';
import { createChain, storedEntry } from './soroban/chain.ts';
import type { Chain } from './soroban/chain.ts';
import { createLibrary } from './soroban/contracts/library.ts';
import type { DepositAuth } from './soroban/contracts/settlements.ts';
import { befriend } from './soroban/friendbot.ts';
import { noFaults } from './soroban/faults.ts';
import type { Faults } from './soroban/faults.ts';
import { genesisOf, writeGenesis } from './soroban/genesis.ts';
import type { ClosedLedger } from './soroban/history.ts';
import { startHttpNode } from './soroban/httpNode.ts';
import { accountKey, hasTimeToLive, idOf } from './soroban/ledgerKeys.ts';
import { callMethod } from './soroban/rpcMethods.ts';

export interface SorobanSimulatorOptions {
  /** The test network's by default. */
  passphrase?: string;
  /** Milliseconds between ledgers; null closes none by itself. 100 by default. */
  closeEveryMs?: number | null;
  /** Seconds of the ledger's clock between ledgers, 5 by default. */
  closeSeconds?: number;
  /** Unix seconds of the first ledger. */
  startsAt?: number;
  startsAtLedger?: number;
  /** 23 by default: archived entries restore themselves. With 22 simulation asks for it in a preamble. */
  protocolVersion?: number;
  /** How far back look-ups reach, 17,280 ledgers (a day) by default. */
  retentionLedgers?: number;
  /** How long what contracts write lives: 90 days by default. */
  persistentTtlLedgers?: number;
  maxTransactionsPerLedger?: number;
  /** After so many ledgers a waiting transaction is dropped; core does after 4. */
  queueTimeoutLedgers?: number;
  /** Whether the node has diagnostic events switched on, which alone tell a landed contract error's number. */
  showsDiagnostics?: boolean;
  depositAuth?: DepositAuth;
  /** Stroops that factories ask for, 0 by default as on the real network. */
  deploymentFee?: bigint;
  onError?: (error: unknown) => void;
}

interface SimulatorControls {
  faults: Faults;
  closeLedger(): ClosedLedger;
  skipLedgers(count: number): ClosedLedger;
  passTime(seconds: number): void;
  /** Ledgers close only by hand. */
  hold(): void;
  /** Ledgers close by themselves again. */
  release(): void;
  /** The minimum bid in stroops per operation, from now on. */
  setInclusionPrice(stroops: number): void;
  dropWaiting(hash: string): boolean;
  /** How many transactions wait for a ledger. */
  waitingCount(): number;
  /**
   * Ends an entry's life now; with `evicted`, so long ago that the node no longer reports when.
   * @throws when there is no such entry that can be archived
   */
  archive(key: xdr.LedgerKey, how?: 'evicted'): void;
  /** Removes an expired temporary entry, or an account, without a trace. */
  remove(key: xdr.LedgerKey): void;
  readonly chain: Chain;
}

export interface SorobanSimulator {
  url: string;
  passphrase: string;
  factoryAddress: string;
  settlementFactory: string;
  nativeAsset: string;
  /** Creates an account with 10,000 lumens at once, or adds to it. */
  fund(address: string, stroops?: bigint): void;
  controls: SimulatorControls;
  close(): Promise<void>;
}

const DEFAULT_TTL_LEDGERS = 90 * 17_280;
const DEFAULT_FUNDS = 100_000_000_000n;

export async function startSorobanSimulator(
  options: SorobanSimulatorOptions = {},
): Promise<SorobanSimulator> {
  const passphrase = options.passphrase ?? Networks.TESTNET;
  const protocolVersion = options.protocolVersion ?? 23;
  const retentionLedgers = options.retentionLedgers ?? 17_280;
  const persistentTtlLedgers = options.persistentTtlLedgers ?? DEFAULT_TTL_LEDGERS;
  const library = createLibrary({ depositAuth: options.depositAuth ?? 'nested' });
  const genesis = genesisOf(passphrase);
  const chain = createChain({
    passphrase,
    protocolVersion,
    library,
    genesis: {
      sequence: options.startsAtLedger ?? 1_000,
      closedAt: BigInt(options.startsAt ?? 1_767_225_600),
    },
    closeSeconds: BigInt(options.closeSeconds ?? 5),
    persistentTtlLedgers,
    retentionLedgers,
    maxTransactionsPerLedger: options.maxTransactionsPerLedger ?? 100,
    queueTimeoutLedgers: options.queueTimeoutLedgers ?? 4,
    showsDiagnostics: options.showsDiagnostics ?? true,
  });
  chain.edit((state, ledger) =>
    writeGenesis(genesis, state, {
      library,
      ledger,
      ttl: persistentTtlLedgers,
      protocolVersion,
      deploymentFee: options.deploymentFee ?? 0n,
    }),
  );
  const faults = noFaults();
  let url: string | null = null;
  const node = await startHttpNode({
    faults,
    onError: options.onError ?? ((error) => console.error(error)),
    befriend: (address) => befriend(chain, genesis.root, address),
    call: (method, params) =>
      callMethod(
        {
          chain,
          faults,
          retentionLedgers,
          friendbotUrl: () => (url === null ? null : `${url}/friendbot`),
          simulation: {
            library,
            protocolVersion,
            persistentTtl: persistentTtlLedgers,
            newNonce: () => randomBytes(8).readBigInt64BE() >> 1n,
          },
        },
        method,
        params,
      ),
  });
  url = node.url;
  const closing = closingByInterval(chain, options.closeEveryMs === undefined ? 100 : options.closeEveryMs);
  return {
    url: node.url,
    passphrase,
    factoryAddress: genesis.factoryAddress,
    settlementFactory: genesis.settlementFactory,
    nativeAsset: genesis.nativeAsset,
    fund: funding(chain),
    controls: { faults, ...closing, ...editing(chain), chain },
    async close() {
      closing.hold();
      await node.close();
    },
  };
}

function closingByInterval(chain: Chain, everyMs: number | null) {
  let timer: NodeJS.Timeout | null = null;
  const hold = () => {
    if (timer) clearInterval(timer);
    timer = null;
  };
  const release = () => {
    if (everyMs !== null && !timer) timer = setInterval(() => void chain.closeLedger(), everyMs);
  };
  release();
  return { hold, release, closeLedger: () => chain.closeLedger() };
}

function editing(chain: Chain) {
  return {
    skipLedgers: (count: number) => chain.skipLedgers(count),
    passTime: (seconds: number) => chain.passTime(BigInt(seconds)),
    setInclusionPrice: (stroops: number) => chain.setInclusionPrice(BigInt(stroops)),
    dropWaiting: (hash: string) => chain.queue.drop(hash),
    waitingCount: () => chain.queue.waiting().length,
    archive: (key: xdr.LedgerKey, how?: 'evicted') =>
      chain.edit((state, ledger) => {
        const entry = state.get(idOf(key));
        if (!entry || !hasTimeToLive(key)) throw new Error(`There is nothing to archive at ${idOf(key)}`);
        state.put(idOf(key), { ...entry, liveUntil: how === 'evicted' ? 0 : ledger - 1 });
      }),
    remove: (key: xdr.LedgerKey) => chain.edit((state) => state.put(idOf(key), null)),
  };
}

function funding(chain: Chain) {
  return (address: string, stroops = DEFAULT_FUNDS) =>
    chain.edit((state, ledger) => {
      const key = accountKey(address);
      const account = state.get(idOf(key))?.data.account();
      const balance = (account?.balance().toBigInt() ?? 0n) + stroops;
      const sequence = account ? sequenceOf(account) : BigInt(ledger) << 32n;
      const data = xdr.LedgerEntryData.account(newAccount(address, balance, sequence));
      state.put(...storedEntry(key, data, ledger, null));
    });
}
