/**
 * From a call to signed bytes: simulate, look at what the simulation asks for, and sign in the slot that is given.
 *
 * When entries that the call needs are archived, today's networks restore them along with it: the simulation's
 * resources name them. Where a node asks for a restoration of its own first (`restorePreamble`), that is what the
 * slot signs: its attempt lands, its outcome says that it only restored (`dead`: without the call's effect), and
 * the next attempt makes the call. So nothing is ever sent that was not recorded before.
 */
import { Operation } from '@stellar/stellar-sdk';
import type { Transaction, xdr } from '@stellar/stellar-sdk';
import { NetworkRefusal } from '../port.ts';
import type { Address, Draft, NetworkCall, PreparedTransaction, Slot } from '../port.ts';
import { isAccount } from './addresses.ts';
import { boundToSource, checkAuthorisation, signEntries } from './authorisation.ts';
import type { AuthorisationForm } from './authorisation.ts';
import { errorOrUnavailable, unsentTransaction } from './contractReads.ts';
import { inclusionFeeStroops } from './fees.ts';
import type { ReadResourceSettings } from './fees.ts';
import { withHeadroom } from './headroom.ts';
import type { SpareRetirements } from './headroom.ts';
import { hostFunctionOf, invocationOf, predictedAddress } from './invocations.ts';
import type { Contracts, Invocation } from './invocations.ts';
import type { StellarNode } from './node.ts';
import type { LedgerState, Resources, Simulation } from './nodeDecoding.ts';
import { explainRefusal } from './refusals.ts';
import type { RefusalContext } from './refusals.ts';
import { plain } from './scvals.ts';
import { buildTransaction, preparedFrom, sourceKey } from './signing.ts';
import type { SearchDeps } from './sequenceSearch.ts';
import type { SigningKeys } from './signing.ts';

export interface DraftingDeps extends RefusalContext, SearchDeps {
  node: StellarNode;
  contracts: Contracts;
  keys: SigningKeys;
  validitySeconds: number;
  maxInclusionFeeStroops: bigint;
  resourceSettings: ReadResourceSettings;
  /** Told when a node does not know the operation's source (authorisation.ts). */
  warn: (message: string) => void;
}

/**
 * A signed entry is to live as long as the time bounds, and no longer: while it does, nothing is called dead. Ledgers
 * close about five seconds apart, and seldom faster than this.
 */
const LEAST_LEDGER_SECONDS = 4n;
const LEDGERS_TO_SPARE = 2n;
/** Each channel may have one ahead of ours, and other holders, whom we don't know, some too. */
const SPARE_RETIREMENTS_OF_OTHERS = 4;
const MIN_SPARE_RETIREMENTS = 8;
/** Of a retirement's record: all but its texts, and with texts of a few words. */
const BARE_RECORD_BYTES = 300;
const SHORT_RECORD_BYTES = 448;
/** Where the texts begin among a retirement's arguments. */
const TEXTS_PLACE = 2;

/** What a simulation that succeeded says, for a call that may be signed. */
export interface SimulatedCall {
  invocation: Invocation;
  auth: xdr.SorobanAuthorizationEntry[];
  form: AuthorisationForm;
  resources: Resources;
  restore: Resources | null;
}

export async function draftCall(deps: DraftingDeps, call: NetworkCall): Promise<Draft> {
  const { node, keys } = deps;
  const custody = keys.custody.publicKey();
  const sources = [...keys.sources.keys()];
  const [state, simulated, inclusionFee] = await Promise.all([
    node.ledgerState(),
    simulateCall(deps, call, custody, sources[0]),
    inclusionFeeStroops(node, deps.maxInclusionFeeStroops),
  ]);
  const roomy = await roomyCall(deps, simulated, state);
  if (roomy.form === 'entries') {
    deps.warn('the Stellar node does not know the source of operations: custody signs authorisation entries');
  }
  return { sign: (slot) => signCall(deps, roomy, state, inclusionFee, slot) };
}

/** @throws NetworkRefusal when the contracts would refuse it, or `caller` may not make the call */
export async function simulateCall(
  deps: Pick<DraftingDeps, 'node' | 'contracts' | 'reads' | 'passphrase' | 'keys'>,
  call: NetworkCall,
  caller: Address,
  channel: Address | undefined,
): Promise<SimulatedCall> {
  const invocation = invocationOf(deps.contracts, call, caller);
  const transaction = unsentTransaction(invocation, {
    passphrase: deps.passphrase,
    // A contract's call comes in somebody's transaction: only accounts have any.
    source: isAccount(caller) ? caller : deps.keys.custody.publicKey(),
    ...(channel === undefined ? {} : { channel }),
  });
  const simulation = await simulateWithNested(deps.node, transaction, invocation);
  if (simulation.status === 'failed') {
    throw new NetworkRefusal(await explainRefusal(deps, invocation, errorOrUnavailable(simulation)));
  }
  requirePredicted(deps.contracts, call, simulation);
  const { resources, restore } = simulation;
  const isSource = isAccount(caller) && (channel ?? caller) === caller;
  const auth = isSource ? boundToSource(simulation.auth, caller) : simulation.auth;
  const form = checkAuthorisation(auth, invocation, caller);
  return { invocation, auth, form, resources, restore };
}

/**
 * A contract may leave the authorisation to the token that it moves. Nodes note that down only when they are told
 * to; older ones don't know the option, so it is tried when the simulation failed for it.
 */
async function simulateWithNested(
  node: StellarNode,
  transaction: Transaction,
  invocation: Invocation,
): Promise<Simulation> {
  const simulation = await node.simulate(transaction);
  if (simulation.status === 'succeeded' || invocation.nestedTransfer === null) return simulation;
  if (errorOrUnavailable(simulation).type !== 'Auth') return simulation;
  return node.simulate(transaction, { allowNested: true });
}

/** What is signed declares a little more than its simulation used (headroom.ts). */
export async function roomyCall(
  deps: Pick<DraftingDeps, 'resourceSettings' | 'keys'>,
  simulated: SimulatedCall,
  state: Pick<LedgerState, 'latestLedger'>,
): Promise<SimulatedCall> {
  const settings = await deps.resourceSettings(state.latestLedger);
  const spare = spareRetirements(simulated.invocation, deps.keys.sources.size);
  return { ...simulated, resources: withHeadroom(simulated.resources, settings, spare) };
}

/** Those that land first are taken to have texts as long as this one's: mostly they come from the same hands. */
function spareRetirements(
  { functionName, contract, args }: Invocation,
  sources: number,
): SpareRetirements | null {
  if (functionName !== 'retire') return null;
  const textBytes = args.slice(TEXTS_PLACE).reduce((sum, text) => sum + text.toXDR().length, 0);
  return {
    token: contract,
    count: Math.max(MIN_SPARE_RETIREMENTS, sources + SPARE_RETIREMENTS_OF_OTHERS),
    recordBytes: Math.max(SHORT_RECORD_BYTES, BARE_RECORD_BYTES + textBytes),
  };
}

/** A factory that puts contracts elsewhere would let an asset be issued twice: a lost deploy could not be found. */
function requirePredicted(
  contracts: Contracts,
  call: NetworkCall,
  simulation: Extract<Simulation, { status: 'succeeded' }>,
): void {
  const predicted = predictedAddress(contracts, call);
  if (predicted === null) return;
  const told = plain(simulation.returnValue);
  if (told === predicted) return;
  throw new NetworkRefusal({
    reason: 'OTHER',
    message: `The factory would deploy to ${String(told)}, but its address and the salt lead to ${predicted}: nothing was signed`,
  });
}

async function signCall(
  deps: DraftingDeps,
  call: SimulatedCall,
  state: LedgerState,
  inclusionFee: bigint,
  slot: Slot | null,
): Promise<PreparedTransaction> {
  if (slot === null) throw new Error('On Stellar every transaction needs a slot: a source and its sequence');
  const { keys } = deps;
  const custody = keys.custody.publicKey();
  const key = sourceKey(keys, slot.source);
  const validUntil = state.closedAt + BigInt(deps.validitySeconds);
  const isThroughChannel = slot.source !== custody;
  const operation = call.restore
    ? Operation.restoreFootprint({})
    : Operation.invokeHostFunction({
        func: hostFunctionOf(call.invocation),
        auth: await authorised(deps, call, state),
        ...(isThroughChannel && call.form === 'envelope' ? { source: custody } : {}),
      });
  const transaction = buildTransaction(
    {
      operation,
      resources: call.restore ?? call.resources,
      inclusionFeeStroops: inclusionFee,
      validUntil,
      passphrase: deps.passphrase,
    },
    slot,
  );
  transaction.sign(key);
  // The network refuses signatures that it has no use for.
  if (isThroughChannel && call.form === 'envelope' && !call.restore) transaction.sign(keys.custody);
  return preparedFrom(transaction, { slot, validUntil, preparedAtLedger: state.latestLedger });
}

async function authorised(
  deps: DraftingDeps,
  call: SimulatedCall,
  state: LedgerState,
): Promise<xdr.SorobanAuthorizationEntry[]> {
  if (call.form === 'envelope') return call.auth;
  const ledger = state.latestLedger + BigInt(deps.validitySeconds) / LEAST_LEDGER_SECONDS + LEDGERS_TO_SPARE;
  return signEntries(call.auth, deps.keys.custody, { ledger, passphrase: deps.passphrase });
}
