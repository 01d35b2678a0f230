/**
 * The embedded network: the contracts' behaviour over PostgreSQL, behind the same port as a real network.
 *
 * Any number of instances on one database are one network. They share the ledger clock's row lock
 * (landing.ts), transactions as signed bytes that verify anywhere (signing.ts), and addresses derived from
 * the network's id (addresses.ts). The rules of the contracts are in contracts/.
 */
import type { Clock } from '../../../lib/clock.ts';
import type { DatabaseHandle } from '../../../db/connection.ts';
import type { ClockControl } from '../family.ts';
import { WHOLE_HISTORY } from '../continuity.ts';
import { refused } from '../port.ts';
import type { Address, Hash32, LedgerNetwork, NetworkCall } from '../port.ts';
import { explainFailures } from '../wrapNetwork.ts';
import { innermostMessage } from '../../../lib/errors.ts';
import { openSigned, prepareForHolder } from './wallets.ts';
import { deployedAddress, factoryAddressOf, initialSettlementAddress } from './addresses.ts';
import type { Invocation } from './calls.ts';
import { createLander } from './landing.ts';
import { advanceLedgerClock, initialiseLedgerClock, readLedgerClock } from './ledgerClock.ts';
import { createOutcomes } from './outcome.ts';
import { createAmountReads } from './amountReads.ts';
import { createReads, readSettlement, readToken } from './reads.ts';
import { retirementTransactions, tokensDeployedSince } from './eventReads.ts';
import { draftCall } from './draft.ts';
import type { SignerDeps } from './draft.ts';
import { isAddress, keypairOf } from '../../../lib/strkey.ts';
import type { RandomBytes } from '../../../lib/strkey.ts';
import { createSimulator } from './simulation.ts';
import { settlements } from './tables.ts';
import { openTransaction } from './signing.ts';

export interface EmbeddedNetworkOptions {
  handle: Pick<DatabaseHandle, 'db'>;
  /** The custody signer's `S…` seed. */
  secretKey: string;
  clock: Clock;
  randomBytes: RandomBytes;
  /** The settlement contract to use; by default the one that this network has for the custody signer. */
  settlementAddress?: Address | undefined;
}

/**
 * Joins the network of this database, or creates it with a new id. Its schema must be migrated
 * (drizzle/embedded-network).
 * @throws Error if `secretKey` is no seed
 */
export async function createEmbeddedNetwork(
  options: EmbeddedNetworkOptions,
): Promise<LedgerNetwork & ClockControl> {
  const { handle, clock, randomBytes } = options;
  const { db } = handle;
  const custody = keypairOf(options.secretKey);
  const networkId = await initialiseLedgerClock(db, clock, freshNetworkId(randomBytes));
  const factoryAddress = factoryAddressOf(networkId);
  const settlementAddress =
    options.settlementAddress ?? (await ensureSettlement(db, networkId, custody.address));
  const landing = { db, clock, networkId, factoryAddress };
  const deps: SignerDeps = { ...landing, simulate: createSimulator(landing), randomBytes };
  const lander = createLander(landing);
  const outcomes = createOutcomes(db, clock);

  const invocationOf = (call: NetworkCall) => withSettlement(call, settlementAddress);
  const addressBy = (salt: Hash32) => deployedAddress(networkId, factoryAddress, salt);

  const answering: LedgerNetwork = {
    name: 'embedded',
    networkId,
    custodyAddress: custody.address,
    normalizeAddress: (text) => (isAddress(text) ? text : null),
    // Ledgers are kept permanently, so every transaction since the first can be looked up.
    status: () => readLedgerClock(db, clock).then((latest) => ({ ...latest, oldestLedger: 1n })),
    ...WHOLE_HISTORY,
    // A random nonce distinguishes transactions, so an account may send any number in any order.
    signingOrder: null,
    nextSequences: async () => new Map(),
    draft: (call) => draftCall(deps, custody, invocationOf(call)),
    async broadcast(signedBytes) {
      const opened = openTransaction(signedBytes, networkId);
      if (typeof opened === 'string') return { status: 'refused', reason: opened };
      return lander
        .submit(opened)
        .catch((error: unknown) => ({ status: 'unknown', reason: innermostMessage(error) }));
    },
    outcome: (sent) => outcomes.submit(sent),
    // Landing is free here, so no fee can be too low.
    replace: async () => null,
    prepareForHolder: (call, holder) => prepareForHolder(deps, invocationOf(call), holder),
    openSigned: (call, unsigned, signed) => openSigned(deps, invocationOf(call), unsigned, signed),
    findToken: async ({ salt }) => {
      const token = await readToken(db, addressBy(salt));
      return token?.admin === custody.address ? token.address : null;
    },
    tokensDeployedSince: (ledger) =>
      tokensDeployedSince(db, { factory: factoryAddress, deployer: custody.address, ledger }),
    findSettlement: ({ salt }) => readSettlement(db, addressBy(salt), custody.address),
    ...createReads(db, clock, settlementAddress),
    ...createAmountReads(db),
    retirementTransactions: (address, wanted) => retirementTransactions(db, address, wanted),
    depositsNeedAllowance: false,
    checkDeposit: async (call, depositor) => {
      await deps.simulate(depositor, invocationOf(call));
    },
  };
  const network = explainFailures(
    answering,
    (error) => `The embedded network did not answer: ${innermostMessage(error)}`,
  );
  const advanceClock = async (seconds: number) => (await advanceLedgerClock(db, clock, seconds)).closedAt;
  return { ...network, advanceClock };
}

/** A network that is created again gets a new id, so that a database tied to the old one is refused. */
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
 * Adds the settlement contract in use, which only calls about deposits need.
 * @throws NetworkRefusal for an allowance, because a deposit on this network is authorised by its own
 *   signature
 */
function withSettlement(call: NetworkCall, settlementAddress: Address): Invocation {
  if (call.kind === 'setAllowance') {
    throw refused('OTHER', 'Tokens of this network know no allowances');
  }
  return 'sessionId' in call ? { ...call, settlementAddress } : call;
}
