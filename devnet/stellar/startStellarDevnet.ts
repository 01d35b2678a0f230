/**
 * A Stellar network of one node for tests: the real Soroban host, the contracts of the deployed interface,
 * and faults on demand between the node and its clients. The SDK's `rpc.Server` works with it unchanged
 * (`allowHttp`).
 */
import { StrKey, xdr } from '@stellar/stellar-sdk';
import { startFaultProxy } from '../soroban/faultProxy.ts';
import type { Faults } from '../soroban/faultProxy.ts';
import { startSorobanNode } from '../soroban/startSorobanNode.ts';
import type { SorobanNode, SorobanNodeOptions } from '../soroban/startSorobanNode.ts';
import { furnish } from './contracts.ts';
import type { FurnishOptions, Furniture } from './contracts.ts';

export type StellarDevnetOptions = SorobanNodeOptions & Partial<FurnishOptions>;

type Passed =
  | 'latest'
  | 'closeLedger'
  | 'skipLedgers'
  | 'passTime'
  | 'hold'
  | 'release'
  | 'setInclusionPrice'
  | 'dropWaiting'
  | 'waiting';

interface DevnetControls extends Pick<SorobanNode, Passed> {
  faults: Faults;
  /**
   * Ends an entry's life now; with `evicted`, so long ago that the node no longer reports when.
   * @throws RpcError when no such entry can be archived
   */
  archive(key: xdr.LedgerKey, how?: 'evicted'): void;
  /** Removes an entry, without archiving it. */
  remove(key: xdr.LedgerKey): void;
  /**
   * Acts as if the account had this number of entries, such as trustlines: it keeps half a lumen for each.
   */
  setSubEntries(address: string, count: number): void;
}

export interface StellarDevnet extends Furniture {
  /** The address of the proxy that makes the faults. */
  url: string;
  passphrase: string;
  /** Creates an account with 10,000 lumens immediately, or adds to its balance. */
  fund(address: string, stroops?: bigint): void;
  controls: DevnetControls;
  close(): Promise<void>;
}

const DEFAULT_CLOSE_MS = 100;

export async function startStellarDevnet({
  depositAuth = 'nested',
  deploymentFee = 0n,
  ...options
}: StellarDevnetOptions = {}): Promise<StellarDevnet> {
  const node = await startSorobanNode({ closeEveryMs: DEFAULT_CLOSE_MS, ...options });
  const furniture = await furnish(node, { depositAuth, deploymentFee });
  const proxy = await startFaultProxy(node);
  return {
    ...furniture,
    url: proxy.url,
    passphrase: node.passphrase,
    fund: node.fund,
    controls: {
      ...node,
      faults: proxy.faults,
      archive: (key, how) => node.archive(key.toXDR('base64'), how),
      remove: (key) => node.remove(key.toXDR('base64')),
      setSubEntries: (address, count) => setSubEntries(node, address, count),
    },
    async close() {
      await proxy.stop();
      await node.stop();
    },
  };
}

function setSubEntries(node: SorobanNode, address: string, count: number): void {
  const saved = node.call('control.save') as { entries: [string, number | null][] };
  const entries = saved.entries.map(([text, liveUntil]) => {
    const entry = xdr.LedgerEntry.fromXDR(text, 'base64');
    const account = entry.data().switch().name === 'account' ? entry.data().account() : null;
    if (account === null || StrKey.encodeEd25519PublicKey(account.accountId().ed25519()) !== address)
      return [text, liveUntil];
    account.numSubEntries(count);
    return [entry.toXDR('base64'), liveUntil];
  });
  node.call('control.load', { ...saved, entries });
}
