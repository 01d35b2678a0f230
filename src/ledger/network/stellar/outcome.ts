/**
 * The outcome of a transaction that was sent, or may have been sent.
 *
 *   SUCCESS                                                        → succeeded
 *   FAILED                                                         → as failures.ts decides
 *   NOT_FOUND, latest ledger closed within the time bounds         → pending
 *   NOT_FOUND, closed past them, and of the source's sequence:
 *     not used up: nothing landed, nothing can                     → dead, whatever history is left
 *     used up before this one was made                             → dead
 *     used up, and at a second look this one landed                → as it landed
 *     used up, and history does not reach back                     → undeterminable
 *     used up by another transaction, which is found               → dead
 *     used up by this one: the node had left it out                → as it landed
 *     used up, by a transaction still searched for                 → pending (ask again)
 *     used up, by a transaction that is not found                  → dead (a holder's) or undeterminable
 *
 * Close time and NOT_FOUND come in one answer, but need not be of one moment, so nothing is concluded from a
 * single NOT_FOUND. The unused sequence is of the ledger in the answer, or of a later one: a node that lags
 * can only say "pending". Only the platform's own keys use the platform's accounts: if the user of a sequence
 * is not found, this transaction has probably landed. A holder may have used theirs for anything.
 */
import { xdr } from '@stellar/stellar-sdk';
import { LRUCache } from 'lru-cache';
import { NetworkUnavailable } from '../port.ts';
import type { Outcome, SentTransaction } from '../port.ts';
import { readAccounts } from './accounts.ts';
import { outcomeOfFailure } from './failures.ts';
import type { FailureDeps } from './failures.ts';
import { landedCallOf, resultOf } from './results.ts';
import type { LandedTransaction, LedgerState, TransactionAnswer } from './nodeAnswers.ts';
import { findUserOfSequence, hashesOf } from './sequenceUse.ts';
import type { SearchDeps, SearchRange } from './sequenceUse.ts';
import type { SigningKeys } from './signing.ts';

/**
 * A transaction with time bounds and a sequence, as this adapter makes all of them. `isOurs`: custody or a
 * channel sent it, not a holder.
 */
type Bounded = SentTransaction & { validUntil: bigint; sequence: bigint; isOurs: boolean };

interface OutcomeDeps extends FailureDeps, SearchDeps {
  keys: SigningKeys;
}

/**
 * Maximum age of an answer by which a pending transaction is not asked about again. If answers to other
 * questions show that no ledger has closed since the last look, nothing can have landed. As many transactions
 * are under way as there are channels, and each is looked at several times per ledger.
 */
const HEARD_IS_FRESH_MS = 100;
/** Far more than are under way. The oldest are forgotten, and asked about again. */
const MAX_PENDING = 1_000;

export function createOutcomes(
  deps: OutcomeDeps,
  elapsedMs: () => number,
): (sent: SentTransaction) => Promise<Outcome> {
  /**
   * By hash: the latest ledger at the last look, which did not have the transaction, and the time of the
   * look.
   */
  const pending = new LRUCache<string, { ledger: bigint; askedAtMs: number }>({ max: MAX_PENDING });

  function isStillPending(hash: string): boolean {
    const look = pending.get(hash);
    if (look === undefined) return false;
    const { ledger, atMs } = deps.node.lastReported();
    return ledger === look.ledger && atMs > look.askedAtMs && elapsedMs() - atMs < HEARD_IS_FRESH_MS;
  }

  return async (sent) => {
    const { hash } = sent;
    if (isStillPending(hash)) return { status: 'pending' };
    pending.delete(hash);
    return outcomeOf(deps, sent, (ledger) => pending.set(hash, { ledger, askedAtMs: elapsedMs() }));
  };
}

/**
 * @param noteMissing called with the node's latest ledger if the transaction has not landed by then, but
 *   still can
 * @throws NetworkUnavailable
 */
export async function outcomeOf(
  deps: OutcomeDeps,
  sent: SentTransaction,
  noteMissing: (ledger: bigint) => void = () => {},
): Promise<Outcome> {
  const answer = await lookUp(deps, bareHash(sent.hash));
  if (answer.status !== 'NOT_FOUND') return outcomeOfLanded(deps, answer);
  const { validUntil, sequence } = sent;
  if (validUntil === null || sequence === null) {
    return {
      status: 'undeterminable',
      reason: 'Every transaction here has a time bound and a sequence; this one names none',
    };
  }
  if (answer.closedAt <= validUntil) {
    noteMissing(answer.latestLedger);
    return { status: 'pending' };
  }
  return outcomeOfMissing(deps, { ...sent, validUntil, sequence, isOurs: isOfOwnKeys(deps, sent) }, answer);
}

/**
 * Something between this platform and its node may mix up answers: another call's answer would settle this
 * one.
 * @throws NetworkUnavailable
 */
async function lookUp(
  { node, passphrase }: Pick<OutcomeDeps, 'node' | 'passphrase'>,
  hash: string,
): Promise<TransactionAnswer> {
  const answer = await node.transaction(hash);
  if (answer.status === 'NOT_FOUND') return answer;
  const { innerHash, outerHash } = hashesOf(answer.envelope, passphrase);
  if (innerHash === hash || outerHash === hash) return answer;
  throw new NetworkUnavailable(
    `The Stellar node shows another transaction in place of ${hash}: ${outerHash}`,
  );
}

/**
 * Whether custody or a channel sent the transaction. If a channel's key was removed since, the caller of its
 * operation is still custody.
 */
function isOfOwnKeys({ keys }: OutcomeDeps, { source, signedBytes }: SentTransaction): boolean {
  const custody = keys.custody.publicKey();
  if (keys.sources.has(source) || source === custody) return true;
  if (signedBytes === undefined) return false;
  return landedCallOf(xdr.TransactionEnvelope.fromXDR(Buffer.from(signedBytes))).caller === custody;
}

async function outcomeOfLanded(
  deps: FailureDeps,
  landed: TransactionAnswer & LandedTransaction,
): Promise<Outcome> {
  const call = landedCallOf(landed.envelope);
  if (landed.status === 'FAILED') return outcomeOfFailure(deps, landed, call);
  return { status: 'succeeded', ledger: landed.ledger, result: resultOf(landed, call, deps.passphrase) };
}

async function outcomeOfMissing(deps: OutcomeDeps, sent: Bounded, state: LedgerState): Promise<Outcome> {
  const { latestLedger, byAddress } = await readAccounts(deps.node, [sent.source]);
  if (latestLedger < state.latestLedger) {
    throw new NetworkUnavailable(
      `The Stellar node shows ${sent.source} as of ledger ${latestLedger}, before the ledger ${state.latestLedger} that it showed before`,
    );
  }
  const past = `Ledger ${state.latestLedger} closed at ${state.closedAt}, after the transaction's last moment ${sent.validUntil}`;
  const account = byAddress.get(sent.source);
  if (account && account.sequence < sent.sequence) {
    return {
      status: 'dead',
      proof: `${past}, and ${sent.source} stands at sequence ${account.sequence}: it never used ${sent.sequence}`,
      isUnused: true,
    };
  }
  // This transaction has probably used it: the first answer may be from before it landed.
  const again = await lookUp(deps, bareHash(sent.hash));
  if (again.status !== 'NOT_FOUND') return outcomeOfLanded(deps, again);
  if (again.latestLedger < latestLedger) return { status: 'pending' };
  const used = `${past}, and sequence ${sent.sequence} of ${sent.source} was used`;
  // The account records the ledger of its last sequence only.
  const usedIn = account?.sequence === sent.sequence ? account.usedInLedger : null;
  if (usedIn !== null && usedIn <= sent.preparedAtLedger) {
    return {
      status: 'dead',
      proof: `${used} in ledger ${usedIn}, before the transaction was made`,
      usedBy: null,
    };
  }
  if (again.oldestLedger > sent.preparedAtLedger) {
    return {
      status: 'undeterminable',
      reason: `${used}; the node remembers ledgers from ${again.oldestLedger} on only, and the transaction was made at ledger ${sent.preparedAtLedger}`,
    };
  }
  return outcomeOfUsed(deps, sent, used, {
    first: usedIn ?? sent.preparedAtLedger + 1n,
    last: usedIn ?? state.latestLedger,
    // A holder's transactions after this one's time do not matter. Only the platform can have used an own
    // account's sequence.
    closedUntil: usedIn === null && !sent.isOurs ? sent.validUntil : null,
  });
}

/** The outcome if the sequence is used, and the transaction's hash was not found. */
async function outcomeOfUsed(
  deps: OutcomeDeps,
  sent: Bounded,
  used: string,
  range: SearchRange,
): Promise<Outcome> {
  const hash = bareHash(sent.hash);
  const { source, sequence, isOurs } = sent;
  const searched = await findUserOfSequence(deps, { hash, source, sequence }, range);
  if (searched.status === 'unfinished') return { status: 'pending' };
  if (searched.status !== 'found') {
    const unseen = `${used}, by what is not found`;
    return isOurs
      ? { status: 'undeterminable', reason: `${unseen}, though only our keys could` }
      : {
          status: 'dead',
          proof: `${unseen}; but not by ${hash}, which the history does not hold`,
          usedBy: null,
        };
  }
  const { user } = searched;
  if (user.innerHash !== hash) {
    return {
      status: 'dead',
      proof: `${used} by ${user.innerHash} in ledger ${user.ledger}`,
      usedBy: user.innerHash,
    };
  }
  const answer = await lookUp(deps, user.outerHash);
  return answer.status === 'NOT_FOUND' ? { status: 'pending' } : outcomeOfLanded(deps, answer);
}

/** The node takes hashes without 0x; the database may store them with 0x. */
function bareHash(hash: string): string {
  return hash.replace(/^0x/, '').toLowerCase();
}
