/**
 * Drafts and signs calls of one key on this network.
 */
import type { Address, Draft, UnixSeconds } from '../port.ts';
import type { Invocation } from './calls.ts';
import type { LandingDeps } from './landing.ts';
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

/**
 * @throws NetworkRefusal if the contracts would refuse the call, or it is too long; then nothing is signed
 */
export async function draftCall(deps: SignerDeps, keypair: Keypair, call: Invocation): Promise<Draft> {
  const { invocation, latest } = await deps.simulate(keypair.address, call);
  const validUntil = latest.closedAt + VALIDITY_SECONDS;
  const source = keypair.address;
  const signed = signTransaction(freshTransaction(deps, source, invocation, validUntil), keypair);
  const { hash, signedBytes } = signed;
  const preparedAtLedger = latest.ledger;
  return { sign: async () => ({ hash, signedBytes, source, sequence: null, validUntil, preparedAtLedger }) };
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
