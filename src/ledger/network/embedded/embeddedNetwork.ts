/**
 * The embedded network: the contracts' behaviour, kept in Postgres, behind the same port as a real network.
 *
 * Any number of instances on one database are one network. What makes it one: the ledger clock's row lock
 * (landing.ts), transactions as signed bytes that verify anywhere (transaction.ts), and addresses derived
 * from the network's id (identity.ts). The rules of the contracts are in contracts/.
 */
import type { Clock } from '../../../clock.ts';
import type { DatabaseHandle } from '../../../db/connection.ts';
import { NetworkRefusal, NetworkUnavailable } from '../port.ts';
import type { Address, BroadcastAnswer, Hash32, LedgerNetwork, NetworkCall } from '../port.ts';
import { innermostMessage } from './databaseErrors.ts';
import { createControls } from './controls.ts';
import type { EmbeddedControls } from './controls.ts';
import { openSigned, prepareForHolder } from './holder.ts';
import { deployedAddress, factoryAddressOf, hashText, initialSettlementAddress } from './identity.ts';
import type { Invocation } from './invocation.ts';
import { createLander, unknownAnswer } from './landing.ts';
import { initialiseLedgerClock, readLedgerClock } from './ledgerClock.ts';
import { outcomeOf } from './outcomes.ts';
import { createReads } from './reads.ts';
import { createSubmit, draftCall, simulateCall } from './signer.ts';
import type { SignerDeps } from './signer.ts';
import { isAddress, keypairOf } from './strkey.ts';
import type { RandomBytes } from './strkey.ts';
import { settlements } from './tables.ts';
import { openTransaction } from './transaction.ts';

export type EmbeddedNetwork = LedgerNetwork & EmbeddedControls;

export interface EmbeddedNetworkOptions {
  handle: Pick<DatabaseHandle, 'db'>;
  /** The custody signer's `S…` seed. */
  secretKey: string;
  clock: Clock;
  randomBytes: RandomBytes;
  /** The settlement contract to use; by default the one this network gives each custody signer. */
  settlementAddress?: Address | undefined;
  /** How long signed bytes can land, by the network's clock; a minute by default. */
  validitySeconds?: number | undefined;
}

const DEFAULT_VALIDITY_SECONDS = 60;

/**
 * Joins the network of this database; the first to come founds it, with an id of its own. The schema
 * must be migrated (drizzle/embedded-network).
 * @throws Error when `secretKey` is no seed
 */
export async function createEmbeddedNetwork(options: EmbeddedNetworkOptions): Promise<EmbeddedNetwork> {
  const { handle, clock, randomBytes } = options;
  const { db } = handle;
  const custody = keypairOf(options.secretKey);
  const networkId = await initialiseLedgerClock(db, clock, freshNetworkId(randomBytes));
  const factoryAddress = factoryAddressOf(networkId);
  const settlementAddress =
    options.settlementAddress ?? (await ensureSettlement(db, networkId, custody.address));
  const deps: SignerDeps = {
    db,
    clock,
    randomBytes,
    networkId,
    factoryAddress,
    validitySeconds: options.validitySeconds ?? DEFAULT_VALIDITY_SECONDS,
  };
  const lander = createLander(deps);

  async function broadcast(signedBytes: Uint8Array): Promise<BroadcastAnswer> {
    const opened = openTransaction(signedBytes, networkId);
    if (typeof opened === 'string') return { status: 'refused', reason: opened };
    return lander.submit(opened).catch(unknownAnswer);
  }

  const outcome: LedgerNetwork['outcome'] = (sent) => answered(outcomeOf(db, clock, sent));
  const submit = createSubmit(deps, broadcast, outcome);
  const reads = createReads(db, clock, settlementAddress);

  const predictTokenAddress = (salt: Hash32) => deployedAddress(networkId, factoryAddress, salt);

  async function findToken(salt: Hash32): Promise<Address | null> {
    const address = predictTokenAddress(salt);
    return (await reads.tokenAt(address)) === null ? null : address;
  }

  async function checkDeposit(call: NetworkCall, depositor: Address): Promise<void> {
    await simulateCall(deps, depositor, withSettlement(call, settlementAddress));
  }

  return {
    name: 'embedded',
    networkId,
    custodyAddress: custody.address,
    normalizeAddress: (text) => (isAddress(text) ? text : null),
    // Ledgers are kept for ever, so every transaction since the first can be looked up.
    status: () => answered(readLedgerClock(db, clock).then((latest) => ({ ...latest, oldestLedger: 1n }))),
    // Bytes are told apart by a random number, so an account sends as many as it likes, in any order.
    signingOrder: null,
    nextSequences: async () => new Map(),
    draft: (call) => answered(draftCall(deps, custody, withSettlement(call, settlementAddress))),
    broadcast,
    outcome,
    // Landing costs nothing here.
    outbid: async () => null,
    prepareForHolder: (call, holder) =>
      answered(prepareForHolder(deps, withSettlement(call, settlementAddress), holder)),
    openSigned: (call, unsigned, signed) =>
      answered(openSigned(deps, withSettlement(call, settlementAddress), unsigned, signed)),
    hashAssetId: hashText,
    predictTokenAddress,
    findToken: ({ salt }) => answered(findToken(salt)),
    tokenAt: (address) => answered(reads.tokenAt(address)),
    carbonTotals: (address) => answered(reads.carbonTotals(address)),
    retirementRecords: (address, from, limit) => answered(reads.retirementRecords(address, from, limit)),
    retirementCountsOf: (addresses) => answered(reads.retirementCountsOf(addresses)),
    totalSupply: (address) => answered(reads.totalSupply(address)),
    balanceOf: (address, holder) => answered(reads.balanceOf(address, holder)),
    expiryOf: (addresses) => answered(reads.expiryOf(addresses)),
    settlementContract: () => answered(reads.settlementContract()),
    offRampDeposit: (sessionId) => answered(reads.offRampDeposit(sessionId)),
    depositsNeedApproval: false,
    checkDeposit: (call, depositor) => answered(checkDeposit(call, depositor)),
    ...createControls({ db, clock, custody, factoryAddress, submit }),
  };
}

/** A network that is founded anew gets a new id, so that a database of the old one notices. */
function freshNetworkId(randomBytes: RandomBytes): string {
  return `embedded-${Buffer.from(randomBytes(16)).toString('hex')}`;
}

async function ensureSettlement(
  db: DatabaseHandle['db'],
  networkId: string,
  custodyAddress: Address,
): Promise<Address> {
  const address = initialSettlementAddress(networkId, custodyAddress);
  await db
    .insert(settlements)
    .values({ address, admin: custodyAddress, treasury: custodyAddress, paused: false })
    .onConflictDoNothing();
  return address;
}

/**
 * Only calls about deposits need to know which settlement contract is in use.
 * @throws NetworkRefusal for an approval: a deposit here is authorised by its own signature
 */
function withSettlement(call: NetworkCall, settlementAddress: Address): Invocation {
  if (call.kind === 'approve') {
    throw new NetworkRefusal({ reason: 'OTHER', message: 'Tokens of this network know no approvals' });
  }
  return 'sessionId' in call ? { ...call, settlementAddress } : call;
}

/** Anything but the network's own word means that it could not be asked. */
async function answered<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof NetworkRefusal || error instanceof RangeError) throw error;
    throw new NetworkUnavailable(`The embedded network did not answer: ${innermostMessage(error)}`, {
      cause: error,
    });
  }
}
