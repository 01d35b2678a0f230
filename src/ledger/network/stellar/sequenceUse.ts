/**
 * Finds the transaction that used a sequence, by reading ledgers. A long search continues at the next call.
 */
import { FeeBumpTransaction, TransactionBuilder } from '@stellar/stellar-sdk';
import type { xdr } from '@stellar/stellar-sdk';
import { LRUCache } from 'lru-cache';
import { nullFor } from '../../../lib/errors.ts';
import type { SequenceSlot } from '../port.ts';
import { accountOf, innerEnvelope } from './results.ts';
import { MethodMissing } from './node.ts';
import type { StellarNode } from './node.ts';
import { hashOf } from './signing.ts';

interface SequenceUser {
  ledger: bigint;
  innerHash: string;
  outerHash: string;
}

type Searched =
  | { status: 'found'; user: SequenceUser }
  /** The whole range was searched, without a match, or the node does not list transactions. */
  | { status: 'unseen' }
  | { status: 'unfinished' };

export interface SearchDeps {
  node: StellarNode;
  passphrase: string;
  /** The cursor where each unfinished search stopped, by the hash that it is for. */
  unfinishedSearches: LRUCache<string, string>;
}

export interface SearchRange {
  first: bigint;
  last: bigint;
  /** Ledgers that closed after this moment are not searched. */
  closedUntil: bigint | null;
}

/** 10,000 transactions: two or three minutes of a busy network, and some seconds of requests. */
const MAX_PAGES_PER_STEP = 50;
/** Fewer attempts are open at a time; a search that is forgotten starts again. */
const MAX_UNFINISHED = 1_000;

export function createUnfinishedSearches(): SearchDeps['unfinishedSearches'] {
  return new LRUCache({ max: MAX_UNFINISHED });
}

export async function findUserOfSequence(
  { node, passphrase, unfinishedSearches }: SearchDeps,
  { hash, ...slot }: SequenceSlot & { hash: string },
  { first, last, closedUntil }: SearchRange,
): Promise<Searched> {
  const stopped = unfinishedSearches.get(hash);
  unfinishedSearches.delete(hash);
  let start: { ledger: bigint } | { cursor: string } =
    stopped === undefined ? { ledger: first } : { cursor: stopped };
  for (let page = 0; page < MAX_PAGES_PER_STEP; page += 1) {
    const listed = await node.transactionsFrom(start).catch(nullFor(MethodMissing));
    if (listed === null) return { status: 'unseen' };
    const { transactions, cursor, latestLedger } = listed;
    for (const { ledger, closedAt, envelope } of transactions) {
      const isPast = closedUntil !== null && closedAt > closedUntil;
      if (isPast || ledger > last) return { status: 'unseen' };
      if (usesSequence(envelope, slot)) {
        return { status: 'found', user: { ledger, ...hashesOf(envelope, passphrase) } };
      }
    }
    if (transactions.length === 0) {
      return { status: latestLedger < last ? 'unfinished' : 'unseen' };
    }
    start = { cursor };
  }
  if ('cursor' in start) unfinishedSearches.set(hash, start.cursor);
  return { status: 'unfinished' };
}

function usesSequence(envelope: xdr.TransactionEnvelope, { source, sequence }: SequenceSlot): boolean {
  if (envelope.switch().name === 'envelopeTypeTxV0') return false;
  const transaction = innerEnvelope(envelope).tx();
  if (transaction.seqNum().toBigInt() !== sequence) return false;
  return accountOf(transaction.sourceAccount()) === source;
}

/** The transaction's own hash, and for a fee bump also the inner transaction's: a node finds it by both. */
export function hashesOf(
  envelope: xdr.TransactionEnvelope,
  passphrase: string,
): { innerHash: string; outerHash: string } {
  const transaction = TransactionBuilder.fromXDR(envelope, passphrase);
  const outerHash = hashOf(transaction).toString('hex');
  if (!(transaction instanceof FeeBumpTransaction)) return { innerHash: outerHash, outerHash };
  return { innerHash: hashOf(transaction.innerTransaction).toString('hex'), outerHash };
}
