/**
 * Turns a call into signed bytes: simulates it, checks the authorisation that the simulation asks for, and
 * signs in the given slot.
 *
 * If the call needs archived entries, the network restores them along with it: the simulation's resources
 * name them.
 */
import { Operation } from '@stellar/stellar-sdk';
import type { xdr } from '@stellar/stellar-sdk';
import { NetworkRefusal, SignerShortOfFunds, refused } from '../port.ts';
import type { Address, Draft, NetworkCall, PreparedTransaction, SequenceSlot } from '../port.ts';
import { readAccounts } from './accounts.ts';
import { isAccount } from './addresses.ts';
import { boundToEnvelope } from './authorisation.ts';
import { errorOrUnavailable, unsentTransaction } from './contractReads.ts';
import type { ReadResourceSettings } from './fees.ts';
import { withHeadroom } from './headroom.ts';
import { hostFunctionOf, invocationOf, predictedAddress } from './calls.ts';
import type { Contracts, Invocation } from './calls.ts';
import { MIN_SPENDABLE_STROOPS, showXlm } from './lumens.ts';
import type { StellarNode } from './node.ts';
import type { LedgerState, Resources, Simulation } from './nodeAnswers.ts';
import { estimateEarlierCalls, type LargestRecord } from './earlierCalls.ts';
import { explainExpiry, explainRefusal, isShortOfLumens } from './refusals.ts';
import type { RefusalContext } from './refusals.ts';
import { plain } from './scvals.ts';
import {
  buildTransaction,
  paidByCustody,
  preparedFrom,
  requireUsualFee,
  signTransaction,
} from './signing.ts';
import type { SearchDeps } from './sequenceUse.ts';
import type { SigningKeys } from './signing.ts';

/** Reads that concurrent drafts share: an answer may be slightly older than its question. */
interface SharedReads {
  presentState(): Promise<LedgerState>;
  /** As feeUnderCapStroops. */
  inclusionFeeStroops(): Promise<bigint>;
  largestRecord: LargestRecord;
}

export interface DraftingDeps extends RefusalContext, SearchDeps {
  node: StellarNode;
  contracts: Contracts;
  keys: SigningKeys;
  validitySeconds: number;
  maxInclusionFeeStroops: bigint;
  resourceSettings: ReadResourceSettings;
  shared: SharedReads;
}

/** A successful simulation of a call that may be signed. */
interface SimulatedCall {
  invocation: Invocation;
  auth: xdr.SorobanAuthorizationEntry[];
  resources: Resources;
}

export async function draftCall(deps: DraftingDeps, call: NetworkCall): Promise<Draft> {
  const { shared, keys } = deps;
  const custody = keys.custody.publicKey();
  const [state, simulated, inclusionFee] = await Promise.all([
    shared.presentState(),
    simulateCall(deps, call, custody),
    shared.inclusionFeeStroops(),
  ]);
  const roomy = await callWithHeadroom(deps, simulated, state);
  // Checked before signing, because many calls are signed together.
  requireUsualFee({ resources: roomy.resources, inclusionFeeStroops: inclusionFee });
  const stroops = costInEnvelope(roomy.resources, inclusionFee);
  if (isForCustodyToPay(stroops)) await requirePayer(deps, roomy.invocation, stroops);
  return { sign: (slot) => signCall(deps, roomy, state, inclusionFee, slot) };
}

/** The envelope counts as one more operation, and the bid is per operation. */
function costInEnvelope({ feeStroops }: Resources, inclusionFee: bigint): bigint {
  return feeStroops + 2n * inclusionFee;
}

/** A channel that signs has at least this amount. */
function isForCustodyToPay(stroops: bigint): boolean {
  return stroops > MIN_SPENDABLE_STROOPS;
}

/**
 * Refuses a call that its payer can't pay for: the network would drop it, and it would be signed again until
 * too many attempts have died. @throws SignerShortOfFunds
 */
async function requirePayer(
  { node, keys }: Pick<DraftingDeps, 'node' | 'keys'>,
  { functionName }: Invocation,
  stroops: bigint,
): Promise<void> {
  const custody = keys.custody.publicKey();
  const has = (await readAccounts(node, [custody])).byAddress.get(custody)?.spendableStroops ?? 0n;
  if (has >= stroops) return;
  throw new SignerShortOfFunds(
    `${custody} has ${showXlm(has)} XLM to spend, and ${functionName} costs up to ${showXlm(stroops)} XLM: ` +
      `send it at least ${showXlm(stroops - has)} XLM`,
  );
}

/**
 * @throws NetworkRefusal if the contracts would refuse it, or `caller` may not make the call;
 *   SignerShortOfFunds
 */
export async function simulateCall(
  deps: Pick<DraftingDeps, 'node' | 'contracts' | 'reads' | 'passphrase' | 'keys'>,
  call: NetworkCall,
  caller: Address,
): Promise<SimulatedCall> {
  const invocation = invocationOf(deps.contracts, call, caller);
  const transaction = unsentTransaction(invocation, {
    passphrase: deps.passphrase,
    // A contract can't be the source of a transaction: only accounts can.
    source: isAccount(caller) ? caller : deps.keys.custody.publicKey(),
  });
  // A contract may leave the authorisation to the token that it moves, which nodes record only on request.
  const allowNested = invocation.nestedTransfer !== null;
  const simulation = await deps.node.simulate(transaction, { allowNested });
  if (simulation.status === 'failed') {
    const error = errorOrUnavailable(simulation);
    if (isShortOfLumens(deps, error)) {
      throw new SignerShortOfFunds(
        `${caller} has too few XLM to spend for the fee of ${invocation.functionName}: send it XLM`,
      );
    }
    throw new NetworkRefusal(await explainRefusal(deps, invocation, error));
  }
  requirePredicted(deps.contracts, call, simulation);
  const tooEarly = call.kind === 'markExpired' ? await explainExpiry(deps.reads, call.tokenAddress) : null;
  if (tooEarly) throw new NetworkRefusal(tooEarly);
  const auth = boundToEnvelope(simulation.auth, invocation, caller);
  return { invocation, auth, resources: simulation.resources };
}

/** Declares more resources than the simulation used (headroom.ts). */
export async function callWithHeadroom(
  { keys, resourceSettings, shared }: Pick<DraftingDeps, 'shared' | 'resourceSettings' | 'keys'>,
  simulated: SimulatedCall,
  state: Pick<LedgerState, 'latestLedger'>,
): Promise<SimulatedCall> {
  const { invocation, resources } = simulated;
  const [settings, earlier] = await Promise.all([
    resourceSettings(state.latestLedger),
    estimateEarlierCalls(shared.largestRecord, invocation, resources.data.resources(), keys.sources.size),
  ]);
  return { ...simulated, resources: withHeadroom(resources, settings, earlier) };
}

/**
 * Requires that the factory deploys to the predicted address. Otherwise a lost deploy could not be found, and
 * an asset could be issued twice.
 */
function requirePredicted(
  contracts: Contracts,
  call: NetworkCall,
  simulation: Extract<Simulation, { status: 'succeeded' }>,
): void {
  const predicted = predictedAddress(contracts, call);
  if (predicted === null) return;
  const reported = plain(simulation.returnValue);
  if (reported === predicted) return;
  throw refused(
    'OTHER',
    `The factory would deploy to ${String(reported)}, but its address and the salt lead to ${predicted}: nothing was signed`,
  );
}

async function signCall(
  deps: DraftingDeps,
  call: SimulatedCall,
  state: LedgerState,
  inclusionFee: bigint,
  slot: SequenceSlot | null,
): Promise<PreparedTransaction> {
  if (slot === null) throw new Error('On Stellar every transaction needs a slot: a source and its sequence');
  const { keys } = deps;
  const custody = keys.custody.publicKey();
  const key = keys.sources.get(slot.source);
  if (!key) throw new Error(`${slot.source} is none of the accounts that sign here`);
  const validUntil = state.closedAt + BigInt(deps.validitySeconds);
  const isThroughChannel = slot.source !== custody;
  const { invocation, auth, resources } = call;
  const operation = Operation.invokeHostFunction({
    func: hostFunctionOf(invocation),
    auth,
    ...(isThroughChannel ? { source: custody } : {}),
  });
  const isPaidByCustody = isThroughChannel && isForCustodyToPay(costInEnvelope(resources, inclusionFee));
  const transaction = buildTransaction(
    {
      operation,
      resources,
      // A transaction without a bid lands only in an envelope. With a bid, the channel could pay for it.
      inclusionFeeStroops: isPaidByCustody ? 0n : inclusionFee,
      validUntil,
      passphrase: deps.passphrase,
    },
    slot,
  );
  // The network refuses signatures that it does not need.
  signTransaction(transaction, isThroughChannel ? [key, keys.custody] : [key]);
  const prepared = preparedFrom(transaction, { slot, validUntil, preparedAtLedger: state.latestLedger });
  if (!isPaidByCustody) return prepared;
  // Any account can take the signed transaction out of custody's envelope and pay for it in its own. Nodes find
  // a transaction in any envelope by its own hash (`InsertTransactions` of stellar-rpc). By the envelope's, one
  // that landed would look dead.
  const envelope = paidByCustody(deps, transaction, inclusionFee).toEnvelope();
  return { ...prepared, signedBytes: envelope.toXDR() };
}
