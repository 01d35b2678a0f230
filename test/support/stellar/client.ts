/**
 * A plain client of the network for tests: builds a call with the SDK, simulates it, signs, sends and waits.
 */
import {
  Account,
  authorizeEntry,
  BASE_FEE,
  Contract,
  Keypair,
  Operation,
  rpc,
  scValToNative,
  TransactionBuilder,
} from '@stellar/stellar-sdk';
import type { Transaction, xdr } from '@stellar/stellar-sdk';
import type { StellarDevnet } from '../../../devnet/stellar/startStellarDevnet.ts';
import { address, bytes32, i128, string, struct, u32, u64, VOID } from './values.ts';

type Success = rpc.Api.SimulateTransactionSuccessResponse;

/** Turns a simulated entry into the entry that is sent. */
export type SignEntry = (entry: xdr.SorobanAuthorizationEntry) => Promise<xdr.SorobanAuthorizationEntry>;

export interface TestClient {
  server: rpc.Server;
  /** A transaction with one contract call, not simulated yet. */
  build(source: Account, contract: string, name: string, args: xdr.ScVal[]): Transaction;
  simulate(transaction: Transaction): Promise<Success>;
  /** Simulates, assembles and signs with `keys`; `others` sign their own entries, or a function signs each. */
  prepare(
    keys: Keypair,
    contract: string,
    name: string,
    args: xdr.ScVal[],
    others?: Keypair[] | SignEntry,
  ): Promise<Transaction>;
  /** Sends and lands; closes a ledger by hand if none closes alone. */
  land(transaction: Transaction): Promise<rpc.Api.GetTransactionResponse>;
  /** Prepares, lands, and expects success. */
  call(keys: Keypair, contract: string, name: string, args: xdr.ScVal[]): Promise<unknown>;
  /** Returns the result of a simulation, as a plain value. */
  read(contract: string, name: string, args?: xdr.ScVal[]): Promise<unknown>;
}

/** Number of ledgers for which a signed authorisation is valid. */
const SIGNATURE_LEDGERS = 100;
const TRANSACTION_SECONDS = 300;

export function createTestClient(devnet: StellarDevnet): TestClient {
  const { passphrase, controls } = devnet;
  const server = new rpc.Server(devnet.url, { allowHttp: true });

  const client: TestClient = {
    server,
    build(source, contract, name, args) {
      const now = controls.latest().closedAt;
      return new TransactionBuilder(source, {
        fee: BASE_FEE,
        networkPassphrase: passphrase,
        timebounds: { minTime: 0, maxTime: now + TRANSACTION_SECONDS },
      })
        .addOperation(new Contract(contract).call(name, ...args))
        .build();
    },
    async simulate(transaction) {
      const answer = await server.simulateTransaction(transaction, undefined, 'record_allow_nonroot');
      if (!rpc.Api.isSimulationSuccess(answer)) throw new Error(answer.error);
      return answer;
    },
    async prepare(keys, contract, name, args, others = []) {
      const source = await server.getAccount(keys.publicKey());
      const built = client.build(source, contract, name, args);
      const simulated = await client.simulate(built);
      const sign = Array.isArray(others) ? signerOfEntries(devnet, others) : others;
      const entries = await Promise.all((simulated.result?.auth ?? []).map(sign));
      const assembled = rpc.assembleTransaction(built, simulated);
      const [operation] = built.operations;
      if (operation?.type !== 'invokeHostFunction') throw new Error('A contract call was expected');
      const transaction = assembled
        .clearOperations()
        .addOperation(Operation.invokeHostFunction({ func: operation.func, auth: entries }))
        .build();
      transaction.sign(keys);
      return transaction;
    },
    async land(transaction) {
      const sent = await server.sendTransaction(transaction);
      if (sent.status !== 'PENDING') throw new Error(`Not taken: ${sent.status}`);
      controls.closeLedger();
      return server.getTransaction(sent.hash);
    },
    async call(keys, contract, name, args) {
      const landed = await client.land(await client.prepare(keys, contract, name, args));
      if (landed.status !== rpc.Api.GetTransactionStatus.SUCCESS)
        throw new Error(`${name}: ${landed.status}`);
      return landed.returnValue ? scValToNative(landed.returnValue) : undefined;
    },
    async read(contract, name, args = []) {
      const reader = Keypair.random().publicKey();
      const built = client.build(new Account(reader, '0'), contract, name, args);
      const { result } = await client.simulate(built);
      return result ? scValToNative(result.retval) : undefined;
    },
  };
  return client;
}

/** Signs each entry with address credentials with the key, among `signers`, of its address. */
function signerOfEntries(devnet: StellarDevnet, signers: readonly Keypair[]): SignEntry {
  return async (entry) => {
    if (entry.credentials().switch().name !== 'sorobanCredentialsAddress') return entry;
    const raw = entry.credentials().address().address().accountId().ed25519();
    const signer = signers.find((keys) => keys.rawPublicKey().equals(raw));
    if (!signer) throw new Error('No given key can sign for an authorisation that is needed');
    return signedBy({ devnet }, signer)(entry);
  };
}

/** Signs each entry with this key, whatever its address. */
export function signedBy({ devnet }: { devnet: StellarDevnet }, keys: Keypair): SignEntry {
  return (entry) => {
    const until = devnet.controls.latest().sequence + SIGNATURE_LEDGERS;
    return authorizeEntry(entry, keys, until, devnet.passphrase);
  };
}

/** Returns the arguments of a carbon token's deploy. */
export function carbonDeployArguments(devnet: StellarDevnet, deployer: string, salt: string): xdr.ScVal[] {
  return [
    address(deployer),
    address(devnet.nativeAsset),
    bytes32(salt),
    string('Carbon Credit 2024'),
    string('CC24'),
    bytes32(`0x${'ab'.repeat(32)}`),
    string('KE'),
    address(deployer),
    VOID,
    struct({
      credit_type: string('VCS'),
      verification_body_ref: string('VCS-1234'),
      vintage_year: u32(2024),
      quantity_co2e: i128(1_000n * 10n ** 18n),
      project_location: string('Kenya'),
      project_type: string('reforestation'),
      verification_doc_hash: bytes32(`0x${'cd'.repeat(32)}`),
      last_updated: u64(1n),
    }),
  ];
}
