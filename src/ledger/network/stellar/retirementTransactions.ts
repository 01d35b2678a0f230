/**
 * Finds the transactions that made a token's retirement records. A hinted transaction is read and must show
 * the record; the token's events show the rest, as far back as the node keeps them.
 *
 * An event names the envelope that landed. Any account can pay for a signed transaction in an envelope of its
 * own, so a transaction is named by its own hash, as in attempts and wallets.
 */
import { xdr } from '@stellar/stellar-sdk';
import { smallest } from '../../../lib/bigints.ts';
import { chunksOf } from '../../../lib/chunksOf.ts';
import type { Address, TransactionHash, WantedTransaction } from '../port.ts';
import { readEvents } from './events.ts';
import { indexesInEvents, indexIn, indexInChanges } from './results.ts';
import type { StellarNode } from './node.ts';
import type { LandedTransaction } from './nodeAnswers.ts';
import { hashesOf, type SearchDeps } from './sequenceUse.ts';

type Found = Map<number, TransactionHash>;

type NamingDeps = Pick<SearchDeps, 'node' | 'passphrase'>;

const HASH = /^[0-9a-f]{64}$/i;
/** Maximum hints that are read; each costs one request. */
const MAX_HINTS = 40;
/** As many as public nodes answer at a time. */
const MAX_READS_AT_ONCE = 8;
/**
 * Ledgers take five seconds or more, so dividing by this number leads to a ledger that is too early rather
 * than too late.
 */
const LEAST_SECONDS_PER_LEDGER = 4n;

export async function retirementTransactions(
  { node, passphrase }: NamingDeps,
  token: Address,
  wanted: readonly WantedTransaction[],
): Promise<ReadonlyMap<number, TransactionHash>> {
  const indexes = new Set(wanted.map(({ index }) => index));
  const found: Found = new Map();
  const hints = new Set(wanted.flatMap((record) => record.hints.filter((hint) => HASH.test(hint))));
  for (const hint of [...hints].slice(0, MAX_HINTS)) {
    const hash = hint.toLowerCase();
    const answer = await node.transaction(hash);
    if (answer.status !== 'SUCCESS') continue;
    const { innerHash } = hashesOf(answer.envelope, passphrase);
    for (const index of retiredIn(answer, token)) if (indexes.has(index)) found.set(index, innerHash);
  }
  const missing = wanted.filter(({ index }) => !found.has(index));
  if (missing.length === 0) return found;
  const inEvents = await findInEvents(node, token, missing);
  const ownHashes = await readOwnHashes({ node, passphrase }, [...new Set(inEvents.values())]);
  for (const [index, envelope] of inEvents) {
    const hash = ownHashes.get(envelope);
    if (hash !== undefined) found.set(index, hash);
  }
  return found;
}

/**
 * By the envelopes' hashes; without those of which the node shows no transaction. It may be behind the one that
 * showed the events, and a record that once has the envelope's hash contradicts its retirement for ever.
 */
async function readOwnHashes(
  { node, passphrase }: NamingDeps,
  envelopes: readonly TransactionHash[],
): Promise<ReadonlyMap<TransactionHash, TransactionHash>> {
  const own = new Map<TransactionHash, TransactionHash>();
  for (const together of chunksOf(envelopes, MAX_READS_AT_ONCE)) {
    const answers = await Promise.all(together.map((hash) => node.transaction(hash)));
    for (const [at, hash] of together.entries()) {
      const answer = answers[at];
      if (answer && answer.status !== 'NOT_FOUND')
        own.set(hash, hashesOf(answer.envelope, passphrase).innerHash);
    }
  }
  return own;
}

/**
 * Searches from about the time of the earliest record; if ledgers closed faster, from the oldest ledger that
 * is kept.
 */
async function findInEvents(
  node: StellarNode,
  token: Address,
  missing: readonly WantedTransaction[],
): Promise<Found> {
  const { latestLedger, closedAt, oldestLedger } = await node.ledgerState();
  const earliest = smallest(...missing.map(({ timestamp }) => timestamp));
  const guess = latestLedger - (closedAt - earliest) / LEAST_SECONDS_PER_LEDGER - 1n;
  // One ledger later, because the node may drop its oldest ledger between two questions.
  const oldest = oldestLedger + 1n;
  const indexes = new Set(missing.map(({ index }) => index));
  const found: Found = new Map();
  if (guess > oldest && guess <= latestLedger)
    await findRetired(node, token, { from: guess, indexes, found });
  if (found.size < indexes.size) await findRetired(node, token, { from: oldest, indexes, found });
  return found;
}

async function findRetired(
  node: StellarNode,
  token: Address,
  { from, indexes, found }: { from: bigint; indexes: ReadonlySet<number>; found: Found },
): Promise<void> {
  const topics = [xdr.ScVal.scvSymbol('retired').toXDR('base64'), '*'];
  await readEvents(node, { from, contract: token, topics }, ({ value, txHash }) => {
    const index = indexIn(value);
    if (index !== null && indexes.has(index)) found.set(index, txHash);
    return found.size < indexes.size ? 'go on' : 'enough';
  });
}

/** From the token's own events; if the node shows none, from the record that was written. */
function retiredIn(landed: LandedTransaction, token: Address): number[] {
  const reported = indexesInEvents(landed, token);
  if (reported.length > 0) return reported;
  const written = indexInChanges(landed, token);
  return written === null ? [] : [written];
}
