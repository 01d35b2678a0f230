/**
 * Sample calls, and shortcuts through signing, sending and settling, for tests and the bench.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { NetworkRefusal } from '../src/ledger/network/port.ts';
import type {
  Address,
  CallResult,
  Draft,
  LedgerNetwork,
  NetworkCall,
  NextSequences,
  Outcome,
  PreparedTransaction,
  RefusalReason,
  SequenceSlot,
} from '../src/ledger/network/port.ts';
import { ZERO_HASH } from '../src/ledger/units.ts';

export const TONNE = 10n ** 18n;
/** Longer than any adapter needs to decide its transaction. */
const OUTCOME_TIMEOUT_MS = 30_000;

export function freshSalt(): string {
  return `0x${randomBytes(32).toString('hex')}`;
}

export function deployCarbon(salt = freshSalt()): Extract<NetworkCall, { kind: 'deployCarbonCredit' }> {
  return {
    kind: 'deployCarbonCredit',
    salt,
    name: 'Mangrove restoration – Sumatra',
    symbol: 'CARB',
    assetId: `VCS-${randomUUID()}-2024`,
    countryCode: 'ID',
    metadata: {
      creditType: 'removal',
      verificationBodyRef: 'VCS-1',
      vintageYear: 2024,
      quantityCO2e: 1000n * TONNE,
      projectLocation: 'Sumatra',
      projectType: 'blue carbon',
      verificationDocHash: ZERO_HASH,
      lastUpdated: 1_700_000_000n,
    },
  };
}

export function deployReceipt(expiryDate: bigint): Extract<NetworkCall, { kind: 'deployCommodityReceipt' }> {
  return {
    kind: 'deployCommodityReceipt',
    salt: freshSalt(),
    name: 'Maize – WH-7',
    symbol: 'WHR',
    assetId: `WH-7-${randomUUID()}`,
    countryCode: 'KE',
    metadata: {
      commodityType: 'maize',
      quantityKg: 5000n,
      gradeClassification: 'A',
      warehouseId: 'WH-7',
      warehouseLocation: 'Nakuru',
      depositDate: 1_700_000_000n,
      expiryDate,
      inspectionReportHash: ZERO_HASH,
      valuationUSD: 1200n * TONNE,
      harvestSeason: '2024A',
      lastUpdated: 1_700_000_000n,
    },
  };
}

export function retire(tokenAddress: Address, amount: bigint, note = 'flight 7'): NetworkCall {
  return { kind: 'retire', tokenAddress, amount, beneficiary: 'Ünïted Øil 🌍', note };
}

/** Signs one call in the next slot of the first signing account. */
export async function prepare(network: LedgerNetwork, call: NetworkCall): Promise<PreparedTransaction> {
  const [prepared] = await prepareAll(network, [call]);
  return prepared;
}

/** Signs calls that can be under way together: each in its own slot, in the given order. */
export async function prepareAll<const Calls extends readonly NetworkCall[]>(
  network: LedgerNetwork,
  calls: Calls,
): Promise<{ -readonly [Place in keyof Calls]: PreparedTransaction }> {
  const drafts = await Promise.all(calls.map((call) => network.draft(call)));
  const nextSequences = await network.nextSequences();
  const prepared = drafts.map((draft, place) => draft.sign(slotOf(network, nextSequences, place)));
  return (await Promise.all(prepared)) as { -readonly [Place in keyof Calls]: PreparedTransaction };
}

/** Signs a draft after others have used its account's slots. */
export async function signLater(network: LedgerNetwork, draft: Draft): Promise<PreparedTransaction> {
  return draft.sign(slotOf(network, await network.nextSequences(), 0));
}

/** Lands all calls, as many at a time as there are slots, sent and settled by each of `senders` in turn. */
export async function landAll(
  senders: readonly LedgerNetwork[],
  calls: readonly NetworkCall[],
): Promise<void> {
  const [network] = senders;
  if (!network) throw new Error('no senders');
  const { signingOrder: order } = network;
  const slots = order === null ? calls.length : order.accounts.length * order.maxOpenPerAccount;
  for (let start = 0; start < calls.length; start += slots) {
    const all = await prepareAll(network, calls.slice(start, start + slots));
    await Promise.all(
      all.map((prepared, place) => sendAndSee(senders[place % senders.length] ?? network, prepared)),
    );
  }
}

async function sendAndSee(network: LedgerNetwork, prepared: PreparedTransaction): Promise<CallResult> {
  const answer = await network.broadcast(prepared.signedBytes);
  if (answer.status !== 'accepted') throw new Error(`broadcast: ${JSON.stringify(answer, showBigint)}`);
  const outcome = await settled(network, prepared);
  if (outcome.status !== 'succeeded') throw new Error(JSON.stringify(outcome, showBigint));
  return outcome.result;
}

function slotOf(
  { signingOrder }: LedgerNetwork,
  nextSequences: NextSequences,
  place: number,
): SequenceSlot | null {
  if (signingOrder === null) return null;
  const { accounts, maxOpenPerAccount } = signingOrder;
  const source = accounts[Math.floor(place / maxOpenPerAccount)];
  if (source === undefined) throw new Error(`${accounts.length} accounts are too few for call ${place}`);
  return { source, sequence: (nextSequences.get(source) ?? 0n) + BigInt(place % maxOpenPerAccount) };
}

/** Asks until the network has decided. */
export async function settled(network: LedgerNetwork, sent: PreparedTransaction): Promise<Outcome> {
  const giveUpAt = Date.now() + OUTCOME_TIMEOUT_MS;
  for (;;) {
    const outcome = await network.outcome(sent);
    if (outcome.status !== 'pending' || Date.now() > giveUpAt) return outcome;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/**
 * Signs, sends and settles a call; fails unless it succeeds. Sets the allowance for a deposit first if the
 * network needs it.
 */
export async function land(network: LedgerNetwork, call: NetworkCall): Promise<CallResult> {
  if (call.kind === 'depositOffRamp' && network.depositsNeedAllowance) {
    const { tokenAddress, amount } = call;
    await land(network, { kind: 'setAllowance', tokenAddress, amount });
  }
  return sendAndSee(network, await prepare(network, call));
}

export async function deploy(network: LedgerNetwork, call: NetworkCall): Promise<Address> {
  const result = await land(network, call);
  if (result.kind !== 'deployed') throw new Error(`A deploy returned ${result.kind}`);
  return result.contractAddress;
}

/** A carbon token with `tonnes` minted to custody. */
export async function mintedCarbon(network: LedgerNetwork, tonnes: bigint): Promise<Address> {
  const tokenAddress = await deploy(network, deployCarbon());
  await land(network, { kind: 'mint', tokenAddress, to: network.custodyAddress, amount: tonnes * TONNE });
  return tokenAddress;
}

/** The refusal with which a promise is rejected; fails when there is none. */
export async function refusalOf(work: Promise<unknown>): Promise<{ reason: RefusalReason; message: string }> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof NetworkRefusal)) throw new Error('Expected a refusal', { cause: error });
    const { reason, message } = error;
    return { reason, message };
  }
  throw new Error('Expected a refusal, and there was none');
}

function showBigint(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
