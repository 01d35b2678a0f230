/**
 * Drafts, signs and follows calls of one key on this network.
 */
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
import type { Invocation } from './calls.ts';
import type { LandingDeps } from './landing.ts';
import type { ClosedLedger } from './ledgerClock.ts';
import type { Keypair, RandomBytes } from '../../../lib/strkey.ts';
import { signTransaction } from './signing.ts';
import type { Transaction } from './signing.ts';
import type { Simulate } from './simulation.ts';

export interface SignerDeps extends LandingDeps {
  simulate: Simulate;
  randomBytes: RandomBytes;
}

/** How long signed bytes can land, by the network's clock. */
const VALIDITY_SECONDS = 60n;
const NONCE_BYTES = 16;

/** @throws NetworkRefusal when the contracts would refuse it, or it is too long; nothing was signed */
export async function draftCall(deps: SignerDeps, keypair: Keypair, call: Invocation): Promise<Draft> {
  const { invocation, latest } = await deps.simulate(keypair.address, call);
  const prepared = signAt(deps, keypair, invocation, latest);
  return { sign: async () => prepared };
}

function signAt(
  deps: SignerDeps,
  keypair: Keypair,
  invocation: Invocation,
  latest: ClosedLedger,
): PreparedTransaction {
  const validUntil = latest.closedAt + VALIDITY_SECONDS;
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

/** A holder on this network other than custody, such as a buyer with a wallet. */
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

interface LandedCall {
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
