/**
 * A simulated Stellar network with a settlement contract, a custody signer and channels, and adapters to it.
 */
import { randomBytes } from 'node:crypto';
import { Account, Keypair, Operation, rpc, TransactionBuilder } from '@stellar/stellar-sdk';
import type { xdr } from '@stellar/stellar-sdk';
import { createStellarNetwork } from '../../src/ledger/network/stellar/network.ts';
import type { StellarNetworkOptions } from '../../src/ledger/network/stellar/network.ts';
import type { Address, LedgerNetwork } from '../../src/ledger/network/port.ts';
import { deploy, freshSalt } from '../calls.ts';
import { startSorobanSimulator } from './startSorobanSimulator.ts';
import type { SorobanSimulator, SorobanSimulatorOptions } from './startSorobanSimulator.ts';

export interface StellarTestbed {
  simulator: SorobanSimulator;
  network: LedgerNetwork;
  twin: LedgerNetwork;
  stranger: LedgerNetwork;
  custody: Keypair;
  channels: Keypair[];
  settlementAddress: Address;
  /** The options of `network`. */
  options: StellarNetworkOptions;
  /** Another adapter on the same network. */
  open: (overrides?: Partial<StellarNetworkOptions>) => Promise<LedgerNetwork>;
  freshAddress: () => Address;
  advanceClock: (seconds: number) => Promise<void>;
  setPaused: (contractAddress: Address, paused: boolean) => Promise<void>;
  close: () => Promise<void>;
}

export interface TestbedOptions {
  channels: number;
  simulator?: SorobanSimulatorOptions;
  network?: Partial<StellarNetworkOptions>;
}

/**
 * A ledger every few milliseconds, a second apart by its own clock: signed bytes live for some seconds of the test.
 */
const QUICK: SorobanSimulatorOptions = { closeEveryMs: 25, closeSeconds: 1 };

export async function startStellarTestbed(options: TestbedOptions): Promise<StellarTestbed> {
  const simulator = await startSorobanSimulator({ ...QUICK, ...options.simulator });
  const custody = Keypair.random();
  const other = Keypair.random();
  const channels = Array.from({ length: options.channels }, () => Keypair.random());
  for (const key of [custody, other, ...channels]) simulator.fund(key.publicKey());

  const common: StellarNetworkOptions = {
    name: 'stellar-simulated',
    rpcUrl: simulator.url,
    passphrase: simulator.passphrase,
    secretKey: custody.secret(),
    channelSecretKeys: channels.map((key) => key.secret()),
    factoryAddress: simulator.factoryAddress,
    settlementFactoryAddress: simulator.settlementFactory,
    maxInclusionFeeStroops: 1_000_000,
    validitySeconds: 300,
    requestTimeoutMs: 5_000,
    ...options.network,
  };
  const settlementAddress = await deploySettlement(common, custody.publicKey());
  const complete = { ...common, settlementAddress };
  const open = (overrides: Partial<StellarNetworkOptions> = {}) =>
    createStellarNetwork({ ...complete, ...overrides });
  return {
    simulator,
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
      const { closeLedger, passTime } = simulator.controls;
      // Waiting transactions land before the time has passed; the next ledger is the first to show it.
      closeLedger();
      passTime(seconds);
      closeLedger();
    },
    setPaused: (address, paused) => invoke(simulator, custody, address, paused ? 'pause' : 'unpause'),
    close: () => simulator.close(),
  };
}

async function deploySettlement(options: StellarNetworkOptions, treasury: Address): Promise<Address> {
  const network = await createStellarNetwork(options);
  return deploy(network, { kind: 'deployRampSettlement', salt: freshSalt(), treasury });
}

/** Any call by any signer, landed with the SDK alone. */
export async function invoke(
  simulator: SorobanSimulator,
  signer: Keypair,
  contract: Address,
  functionName: string,
  args: xdr.ScVal[] = [],
  bidStroops = 100_000,
): Promise<void> {
  const server = new rpc.Server(simulator.url, { allowHttp: true });
  const account = await server.getAccount(signer.publicKey());
  const draft = new TransactionBuilder(new Account(signer.publicKey(), account.sequenceNumber()), {
    fee: String(bidStroops),
    networkPassphrase: simulator.passphrase,
    timebounds: { minTime: 0, maxTime: 0 },
  })
    .addOperation(Operation.invokeContractFunction({ contract, function: functionName, args }))
    .build();
  const transaction = await server.prepareTransaction(draft);
  transaction.sign(signer);
  const sent = await server.sendTransaction(transaction);
  if (sent.status !== 'PENDING') throw new Error(`${functionName} was not taken: ${sent.status}`);
  const landed = await server.pollTransaction(sent.hash, { attempts: 200, sleepStrategy: () => 25 });
  if (landed.status !== rpc.Api.GetTransactionStatus.SUCCESS) {
    throw new Error(`${functionName} did not land: ${landed.status}`);
  }
}
