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
  Outcome,
  PreparedTransaction,
  TransactionHash,
} from '../port.ts';
import { execute, keysOf } from './contracts/execute.ts';
import { checkInvocation } from './invocation.ts';
import type { Invocation } from './invocation.ts';
import { readLedgerClock } from './ledgerClock.ts';
import type { Keypair, RandomBytes } from './strkey.ts';
import { signTransaction } from './transaction.ts';
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
 * Simulates the call on the state of this moment, then signs it.
 * @throws NetworkRefusal when the contracts would refuse it; nothing was signed
 */
export async function prepareCall(
  deps: SignerDeps,
  keypair: Keypair,
  call: Invocation,
): Promise<PreparedTransaction> {
  const invocation = checkInvocation(call);
  const context = { ...deps, source: keypair.address };
  const [latest, world] = await Promise.all([
    readLedgerClock(deps.db, deps.clock),
    loadWorld(deps.db, [keysOf(context, invocation)]),
  ]);
  execute(world, { ...context, closedAt: latest.closedAt }, invocation);
  const validUntil = latest.closedAt + BigInt(deps.validitySeconds);
  const signed = signTransaction(
    {
      networkId: deps.networkId,
      source: keypair.address,
      nonce: Buffer.from(deps.randomBytes(NONCE_BYTES)).toString('hex'),
      validUntil,
      invocation,
    },
    keypair,
  );
  return {
    hash: signed.hash,
    signedBytes: signed.signedBytes,
    source: keypair.address,
    sequence: null,
    validUntil,
    preparedAtLedger: latest.ledger,
  };
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
    const prepared = await prepareCall(deps, keypair, call);
    const answer = await broadcast(prepared.signedBytes);
    const settled = await outcome(prepared);
    if (settled.status === 'succeeded') return { hash: prepared.hash, result: settled.result };
    if (settled.status === 'refused') throw new NetworkRefusal(settled.refusal);
    const why = answer.status === 'accepted' ? 'it was accepted' : answer.reason;
    throw new Error(`${call.kind} ${prepared.hash} is ${settled.status}: ${why}`);
  };
}
