/**
 * A Stellar network on the real Soroban host with a settlement contract, a custody signer and channels, and
 * adapters to it.
 */
import { randomBytes } from 'node:crypto';
import { Account, Keypair, Operation, rpc, TransactionBuilder } from '@stellar/stellar-sdk';
import type { xdr } from '@stellar/stellar-sdk';
import { createStellarNetwork } from '../../src/ledger/network/stellar/network.ts';
import type { StellarNetworkOptions } from '../../src/ledger/network/stellar/options.ts';
import type { Address, LedgerNetwork } from '../../src/ledger/network/port.ts';
import { deploy, freshSalt } from '../calls.ts';
import { startStellarDevnet } from './startStellarDevnet.ts';
import type { StellarDevnet, StellarDevnetOptions } from './startStellarDevnet.ts';

export interface StellarTestbed {
  devnet: StellarDevnet;
  network: LedgerNetwork;
  twin: LedgerNetwork;
  stranger: LedgerNetwork;
  custody: Keypair;
  channels: Keypair[];
  settlementAddress: Address;
  /** The options of `network`. */
  options: StellarNetworkOptions;
  /** Opens another adapter on the same network. */
  open: (overrides?: Partial<StellarNetworkOptions>) => Promise<LedgerNetwork>;
  freshAddress: () => Address;
  advanceClock: (seconds: number) => Promise<void>;
  setPaused: (contractAddress: Address, paused: boolean) => Promise<void>;
  close: () => Promise<void>;
}

export interface TestbedOptions {
  channels: number;
  devnet?: StellarDevnetOptions;
  network?: Partial<StellarNetworkOptions>;
}

/**
 * A ledger every few milliseconds, a second apart by the network's clock: signed bytes live for some seconds
 * of the test.
 */
const QUICK: StellarDevnetOptions = { closeEveryMs: 25, closeSeconds: 1 };

export async function startStellarTestbed(options: TestbedOptions): Promise<StellarTestbed> {
  const devnet = await startStellarDevnet({ ...QUICK, ...options.devnet });
  const custody = Keypair.random();
  const other = Keypair.random();
  const channels = Array.from({ length: options.channels }, () => Keypair.random());
  for (const key of [custody, other, ...channels]) devnet.fund(key.publicKey());

  const common: StellarNetworkOptions = {
    name: 'stellar-devnet',
    rpcUrl: devnet.url,
    passphrase: devnet.passphrase,
    secretKey: custody.secret(),
    channelSecretKeys: channels.map((key) => key.secret()),
    factoryAddress: devnet.factoryAddress,
    settlementFactoryAddress: devnet.settlementFactory,
    settlementAddress: undefined,
    maxInclusionFeeStroops: 1_000_000,
    validitySeconds: 300,
    requestTimeoutMs: 30_000,
    ...options.network,
  };
  const settlementAddress = await deploySettlement(common, custody.publicKey());
  const complete = { ...common, settlementAddress };
  const open = (overrides: Partial<StellarNetworkOptions> = {}) =>
    createStellarNetwork({ ...complete, ...overrides });
  return {
    devnet,
    options: complete,
    network: await open(),
    twin: await open(),
    stranger: await open({ secretKey: other.secret(), channelSecretKeys: [] }),
    custody,
    channels,
    settlementAddress,
    open,
    freshAddress: () => Keypair.fromRawEd25519Seed(randomBytes(32)).publicKey(),
    advanceClock: async (seconds) => {
      const { closeLedger, passTime } = devnet.controls;
      // Waiting transactions land before the time moves; the next ledger is the first with the new time.
      closeLedger();
      passTime(seconds);
      closeLedger();
    },
    setPaused: (address, paused) => invoke(devnet, custody, address, paused ? 'pause' : 'unpause'),
    close: () => devnet.close(),
  };
}

async function deploySettlement(options: StellarNetworkOptions, treasury: Address): Promise<Address> {
  const network = await createStellarNetwork(options);
  return deploy(network, { kind: 'deployRampSettlement', salt: freshSalt(), treasury });
}

/** Lands any call by any signer, using only the SDK, in a ledger that closes immediately. */
export async function invoke(
  devnet: StellarDevnet,
  signer: Keypair,
  contract: Address,
  functionName: string,
  args: xdr.ScVal[] = [],
  bidStroops = 100_000,
): Promise<void> {
  const server = new rpc.Server(devnet.url, { allowHttp: true });
  const account = await server.getAccount(signer.publicKey());
  const draft = new TransactionBuilder(new Account(signer.publicKey(), account.sequenceNumber()), {
    fee: String(bidStroops),
    networkPassphrase: devnet.passphrase,
    timebounds: { minTime: 0, maxTime: 0 },
  })
    .addOperation(Operation.invokeContractFunction({ contract, function: functionName, args }))
    .build();
  const transaction = await server.prepareTransaction(draft);
  transaction.sign(signer);
  const sent = await server.sendTransaction(transaction);
  if (sent.status !== 'PENDING') throw new Error(`${functionName} was not taken: ${sent.status}`);
  devnet.controls.closeLedger();
  const landed = await server.getTransaction(sent.hash);
  if (landed.status !== rpc.Api.GetTransactionStatus.SUCCESS) {
    throw new Error(`${functionName} did not land: ${landed.status}`);
  }
}
