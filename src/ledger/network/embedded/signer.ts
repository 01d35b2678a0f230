/**
 * Someone with a key of their own on this network: builds and signs calls, and sees them through.
 */
import type { Clock } from '../../../clock.ts';
import type { Db } from '../../../db/connection.ts';
import { NetworkRefusal } from '../port.ts';
import type {
  Address,
  BroadcastAnswer,
  CallResult,
  Draft,
  Outcome,
  PreparedTransaction,
  TransactionHash,
  UnixSeconds,
} from '../port.ts';
import { execute, keysOf } from './contracts/execute.ts';
import { checkInvocation } from './invocation.ts';
import type { Invocation } from './invocation.ts';
import { readLedgerClock } from './ledgerClock.ts';
import type { ClosedLedger } from './ledgerClock.ts';
import type { Keypair, RandomBytes } from './strkey.ts';
import { signTransaction } from './transaction.ts';
import type { Transaction } from './transaction.ts';
import { loadWorld } from './worldStore.ts';

export interface SignerDeps {
  db: Db;
  clock: Clock;
  randomBytes: RandomBytes;
  networkId: string;
  factoryAddress: Address;
  /** How long signed bytes can land, by the network's clock. */
  validitySeconds: number;
}

const NONCE_BYTES = 16;

/**
 * Runs the call on the state of this moment, without effect, as if `source` had sent it.
 * @throws NetworkRefusal when the contracts would refuse it
 */
export async function simulateCall(
  deps: Pick<SignerDeps, 'db' | 'clock' | 'networkId' | 'factoryAddress'>,
  source: Address,
  call: Invocation,
): Promise<{ invocation: Invocation; latest: ClosedLedger }> {
  const invocation = checkInvocation(call);
  const context = { ...deps, source };
  const [latest, world] = await Promise.all([
    readLedgerClock(deps.db, deps.clock),
    loadWorld(deps.db, [keysOf(context, invocation)]),
  ]);
  execute(world, { ...context, closedAt: latest.closedAt }, invocation);
  return { invocation, latest };
}

/** @throws NetworkRefusal when the contracts would refuse it, or it is too long; nothing was signed */
export async function draftCall(deps: SignerDeps, keypair: Keypair, call: Invocation): Promise<Draft> {
  const { invocation, latest } = await simulateCall(deps, keypair.address, call);
  const prepared = signAt(deps, keypair, invocation, latest);
  return { sign: async () => prepared };
}

function signAt(
  deps: SignerDeps,
  keypair: Keypair,
  invocation: Invocation,
  latest: ClosedLedger,
): PreparedTransaction {
  const validUntil = latest.closedAt + BigInt(deps.validitySeconds);
  const signed = signTransaction(freshTransaction(deps, keypair.address, invocation, validUntil), keypair);
  return {
    hash: signed.hash,
    signedBytes: signed.signedBytes,
    source: keypair.address,
    sequence: null,
    validUntil,
    preparedAtLedger: latest.ledger,
  };
}

export function freshTransaction(
  deps: Pick<SignerDeps, 'networkId' | 'randomBytes'>,
  source: Address,
  invocation: Invocation,
  validUntil: UnixSeconds,
): Transaction {
  const nonce = Buffer.from(deps.randomBytes(NONCE_BYTES)).toString('hex');
  return { networkId: deps.networkId, source, nonce, validUntil, invocation };
}

/** A holder of this network other than custody, such as a buyer with a wallet of their own. */
export interface EmbeddedSigner {
  readonly address: Address;
  /** @throws NetworkRefusal */
  transfer(call: { tokenAddress: Address; to: Address; amount: bigint }): Promise<TransactionHash>;
  /** Burns this holder's own balance. @throws NetworkRefusal */
  retire(call: {
    tokenAddress: Address;
    amount: bigint;
    beneficiary: string;
    note: string;
  }): Promise<TransactionHash>;
}

export interface LandedCall {
  hash: TransactionHash;
  result: CallResult;
}

/** Prepares, sends and waits for one call. @throws NetworkRefusal, or Error when its outcome is unknown */
export type SubmitCall = (keypair: Keypair, call: Invocation) => Promise<LandedCall>;

export function createSubmit(
  deps: SignerDeps,
  broadcast: (signedBytes: Uint8Array) => Promise<BroadcastAnswer>,
  outcome: (sent: PreparedTransaction) => Promise<Outcome>,
): SubmitCall {
  return async (keypair, call) => {
    const prepared = await (await draftCall(deps, keypair, call)).sign(null);
    const answer = await broadcast(prepared.signedBytes);
    const settled = await outcome(prepared);
    if (settled.status === 'succeeded') return { hash: prepared.hash, result: settled.result };
    if (settled.status === 'refused') throw new NetworkRefusal(settled.refusal);
    const why = answer.status === 'accepted' ? 'it was accepted' : answer.reason;
    throw new Error(`${call.kind} ${prepared.hash} is ${settled.status}: ${why}`);
  };
}
