/**
 * The network's word about a transaction that was sent, or may have been.
 *
 *   SUCCESS                                                        → succeeded
 *   FAILED                                                         → refused, dead or undeterminable (failures.ts)
 *   NOT_FOUND, latest ledger closed within the time bounds         → pending
 *   NOT_FOUND, closed past them, and of the source's sequence:
 *     not used up: nothing landed, nothing can                     → dead, whatever history is left
 *     used up by another transaction, which is found               → dead
 *     used up by this one after all: the node left it out          → as it landed
 *     used up, and by what is not found                            → pending (ask again)
 *     used up, at a node that can't list transactions              → dead, if its history reaches back
 *     used up, and history does not reach back, or is too long     → undeterminable
 *
 * Close time, NOT_FOUND and the reach of history are from one answer of one node, and the sequence is of that
 * ledger or a later one: a node that lags behind can only say "pending".
 */
import { FeeBumpTransaction, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import { NetworkUnavailable } from '../port.ts';
import type { Outcome, SentTransaction } from '../port.ts';
import { readAccounts } from './accounts.ts';
import { detachedIn, onceUnusable } from './detachedEntries.ts';
import type { DetachedDeps } from './detachedEntries.ts';
import { outcomeOfFailure } from './failures.ts';
import type { FailureDeps } from './failures.ts';
import { accountOf, innerEnvelope, landedCallOf, resultOf } from './landedCall.ts';
import { MethodMissing } from './node.ts';
import type { LandedTransaction, LedgerState, TransactionAnswer } from './nodeDecoding.ts';

/** 20,000 transactions: more than land within the time bounds of one, and no longer a search than one step may take. */
const MAX_PAGES_SEARCHED = 100;

export interface OutcomeDeps extends FailureDeps, DetachedDeps {}

/** @throws NetworkUnavailable */
export async function outcomeOf(deps: OutcomeDeps, sent: SentTransaction): Promise<Outcome> {
  const answer = await deps.node.transaction(bareHash(sent.hash));
  const { signedBytes, preparedAtLedger } = sent;
  const envelope = answer.status === 'NOT_FOUND' ? signedBytes && openEnvelope(signedBytes) : answer.envelope;
  const credentials = envelope ? detachedIn(envelope) : [];
  const verdict = await verdictOf(deps, sent, answer);
  return onceUnusable(deps, { credentials, preparedAtLedger }, verdict);
}

function openEnvelope(signedBytes: Uint8Array): xdr.TransactionEnvelope {
  return xdr.TransactionEnvelope.fromXDR(Buffer.from(signedBytes));
}

async function verdictOf(
  deps: FailureDeps,
  sent: SentTransaction,
  answer: TransactionAnswer,
): Promise<Outcome> {
  if (answer.status !== 'NOT_FOUND') return outcomeOfLanded(deps, answer);
  const { validUntil, sequence } = sent;
  if (validUntil === null || sequence === null) {
    return {
      status: 'undeterminable',
      reason: 'Every transaction here has a time bound and a sequence; this one names none',
    };
  }
  if (answer.closedAt <= validUntil) return { status: 'pending' };
  return outcomeOfMissing(deps, { ...sent, validUntil, sequence }, answer);
}

async function outcomeOfLanded(
  deps: FailureDeps,
  landed: TransactionAnswer & LandedTransaction,
): Promise<Outcome> {
  const call = landedCallOf(landed.envelope);
  if (landed.status === 'FAILED') return outcomeOfFailure(deps, landed, call);
  if (call.kind === 'restoration') {
    return {
      status: 'dead',
      proof: `It landed in ledger ${landed.ledger} and restored archived entries, as it was to: the call itself was not made yet`,
    };
  }
  const { ledger, createdAt: closedAt } = landed;
  return { status: 'succeeded', ledger, closedAt, result: resultOf(landed, call, deps.passphrase) };
}

async function outcomeOfMissing(
  deps: FailureDeps,
  sent: SentTransaction & { validUntil: bigint; sequence: bigint },
  state: LedgerState,
): Promise<Outcome> {
  const { latestLedger, byAddress } = await readAccounts(deps.node, [sent.source]);
  if (latestLedger < state.latestLedger) {
    throw new NetworkUnavailable(
      `The Stellar node shows ${sent.source} as of ledger ${latestLedger}, before the ledger ${state.latestLedger} that it told of`,
    );
  }
  const past = `Ledger ${state.latestLedger} closed at ${state.closedAt}, after the transaction's last moment ${sent.validUntil}`;
  const account = byAddress.get(sent.source);
  const used = account?.sequence;
  if (used !== undefined && used < sent.sequence) {
    return {
      status: 'dead',
      proof: `${past}, and ${sent.source} stands at sequence ${used}: it never used ${sent.sequence}`,
    };
  }
  if (state.oldestLedger > sent.preparedAtLedger) {
    return {
      status: 'undeterminable',
      reason:
        `Sequence ${sent.sequence} of ${sent.source} was used, and the node remembers ledgers from ` +
        `${state.oldestLedger} on only: the transaction was made at ledger ${sent.preparedAtLedger}`,
    };
  }
  // The account itself tells the ledger, unless it went on since.
  const exactly = used === sent.sequence ? (account?.usedInLedger ?? null) : null;
  const user = await findUserOfSequence(deps, sent, {
    first: exactly ?? sent.preparedAtLedger + 1n,
    last: exactly ?? state.latestLedger,
  }).catch(notListed);
  if (user === 'not listed') {
    return {
      status: 'dead',
      proof: `${past}, sequence ${sent.sequence} of ${sent.source} was used, and the history from ledger ${state.oldestLedger} on does not hold ${sent.hash}`,
      usedBy: null,
    };
  }
  if (user === 'not found') return { status: 'pending' };
  if (user === 'too long a search') {
    return {
      status: 'undeterminable',
      reason: `Sequence ${sent.sequence} of ${sent.source} was used, and by what was not found in ${MAX_PAGES_SEARCHED} pages of transactions`,
    };
  }
  if (user.innerHash !== bareHash(sent.hash) && user.outerHash !== bareHash(sent.hash)) {
    return {
      status: 'dead',
      proof: `${past}, and sequence ${sent.sequence} of ${sent.source} was used by ${user.outerHash} in ledger ${user.ledger}`,
      usedBy: user.outerHash,
    };
  }
  const answer = await deps.node.transaction(user.outerHash);
  return answer.status === 'NOT_FOUND' ? { status: 'pending' } : outcomeOfLanded(deps, answer);
}

/** A node that lists no transactions can't be asked a second way: then its history is believed. */
function notListed(error: unknown): 'not listed' {
  if (error instanceof MethodMissing) return 'not listed';
  throw error;
}

interface SequenceUser {
  ledger: bigint;
  innerHash: string;
  outerHash: string;
}

/** Looks through ledgers for the transaction that used a sequence. */
async function findUserOfSequence(
  { node, passphrase }: FailureDeps,
  sent: SentTransaction & { sequence: bigint },
  { first, last }: { first: bigint; last: bigint },
): Promise<SequenceUser | 'not found' | 'too long a search'> {
  let start: { ledger: bigint } | { cursor: string } = { ledger: first < last ? first : last };
  for (let page = 0; page < MAX_PAGES_SEARCHED; page += 1) {
    const { transactions, cursor } = await node.transactionsFrom(start);
    for (const { ledger, envelope } of transactions) {
      if (usesSequence(envelope, sent)) return { ledger, ...hashesOf(envelope, passphrase) };
    }
    const end = transactions.at(-1);
    if (!end || cursor === null || end.ledger > last) return 'not found';
    start = { cursor };
  }
  return 'too long a search';
}

function usesSequence(
  envelope: xdr.TransactionEnvelope,
  sent: SentTransaction & { sequence: bigint },
): boolean {
  if (envelope.switch().name === 'envelopeTypeTxV0') return false;
  const transaction = innerEnvelope(envelope).tx();
  if (transaction.seqNum().toBigInt() !== sent.sequence) return false;
  return accountOf(transaction.sourceAccount()) === sent.source;
}

function hashesOf(
  envelope: xdr.TransactionEnvelope,
  passphrase: string,
): { innerHash: string; outerHash: string } {
  const transaction = TransactionBuilder.fromXDR(envelope, passphrase);
  const inner = transaction instanceof FeeBumpTransaction ? transaction.innerTransaction : transaction;
  return { innerHash: inner.hash().toString('hex'), outerHash: transaction.hash().toString('hex') };
}

/** The node wants hashes bare; the database may hold them as they are written elsewhere. */
function bareHash(hash: string): string {
  return hash.replace(/^0x/, '').toLowerCase();
}
