/**
 * What exists on the network from its first ledger: code, factories and the native asset's contract.
 */
import { Asset, Keypair, xdr } from '@stellar/stellar-sdk';
import { newAccount } from './accounts.ts';
import { storedEntry } from './chain.ts';
import { configSettings } from './configSettings.ts';
import { CODE_KINDS, codeEntry } from './contracts/library.ts';
import { factoryInstanceValues } from './contracts/factories.ts';
import { sha256 } from './envelopes.ts';
import { instanceData, instanceOf } from './host.ts';
import type { CodeLibrary } from './host.ts';
import { accountKey, codeKey, deployedContract, instanceKey } from './ledgerKeys.ts';
import type { Overlay } from './ledgerState.ts';

interface Genesis {
  factoryAddress: string;
  settlementFactory: string;
  nativeAsset: string;
  /** Owns the factories and gives new accounts their lumens. */
  root: Keypair;
}

/** Stroops: half of all lumens that were ever made. */
const ROOT_BALANCE = 500_000_000_000_000_000n;

export function genesisOf(passphrase: string): Genesis {
  const root = Keypair.fromRawEd25519Seed(sha256(passphrase, ' root'));
  const contractOf = (name: string) => deployedContract(passphrase, root.publicKey(), sha256(name));
  return {
    root,
    factoryAddress: contractOf('token-factory'),
    settlementFactory: contractOf('settlement-factory'),
    nativeAsset: Asset.native().contractId(passphrase),
  };
}

export function writeGenesis(
  genesis: Genesis,
  state: Overlay,
  options: {
    library: CodeLibrary;
    ledger: number;
    ttl: number;
    deploymentFee: bigint;
    protocolVersion: number;
  },
): void {
  const { library, ledger } = options;
  // Code and factories are kept alive by their other users.
  const liveUntil = ledger + 100 * options.ttl;
  const put = (key: xdr.LedgerKey, data: xdr.LedgerEntryData, until: number | null) =>
    state.put(...storedEntry(key, data, ledger, until));

  const owner = genesis.root.publicKey();
  const account = xdr.LedgerEntryData.account(newAccount(owner, ROOT_BALANCE, 0n));
  put(accountKey(owner), account, null);
  for (const kind of CODE_KINDS) put(codeKey(library.hashOf(kind)), codeEntry(kind), liveUntil);
  const factories = {
    'token-factory': genesis.factoryAddress,
    'settlement-factory': genesis.settlementFactory,
  };
  for (const [kind, address] of Object.entries(factories)) {
    const values = factoryInstanceValues(owner, options.deploymentFee);
    put(instanceKey(address), instanceData(address, library.hashOf(kind), values), liveUntil);
  }
  const native = instanceOf(genesis.nativeAsset, xdr.ContractExecutable.contractExecutableStellarAsset(), []);
  put(instanceKey(genesis.nativeAsset), native, liveUntil);
  const settings = { protocolVersion: options.protocolVersion, persistentTtl: options.ttl };
  for (const { key, data } of configSettings(settings)) put(key, data, null);
}
