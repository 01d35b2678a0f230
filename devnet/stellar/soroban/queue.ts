/**
 * The transactions that wait for a ledger: at most one of each source account.
 *
 *   submit ──▶ waiting ──a ledger takes it──▶ landed
 *                 ├──a fee bump at ten times its fee──▶ replaced
 *                 └──four ledgers without it, or no longer valid──▶ dropped, and its hash banned for ten
 */
import type { xdr } from '@stellar/stellar-sdk';
import type { OpenedTransaction } from './envelopes.ts';
import { rejectionResult } from './results.ts';
import { inclusionFee, operationCount, rejectionOf } from './validity.ts';
import type { ValidityContext } from './validity.ts';

export type Submission =
  | { status: 'PENDING' | 'DUPLICATE' | 'TRY_AGAIN_LATER' }
  | { status: 'ERROR'; result: xdr.TransactionResult };

export interface TransactionQueue {
  submit(transaction: OpenedTransaction, context: ValidityContext, ledger: number): Submission;
  waiting(): readonly OpenedTransaction[];
  /** After a ledger: what landed leaves, what is no longer valid is dropped, the rest has waited once more. */
  settle(landed: readonly OpenedTransaction[], context: ValidityContext, ledger: number): void;
  /** Forgets a waiting transaction without a trace, as a node that restarts does. */
  drop(hash: string): boolean;
}

/** What core multiplies the waiting fee with before it lets a replacement in. */
const REPLACEMENT_FACTOR = 10n;
const BAN_LEDGERS = 10;
/** More than any test sends at once; core bounds its queue by resources. */
const MAX_WAITING = 5_000;

export function createQueue(options: { timeoutLedgers: number }): TransactionQueue {
  const waiting = new Map<string, { transaction: OpenedTransaction; age: number }>();
  const bannedUntil = new Map<string, number>();

  function refusalBeside(current: OpenedTransaction, next: OpenedTransaction): Submission | null {
    if (next.hash === current.hash || next.hash === current.innerHash) return { status: 'DUPLICATE' };
    if (next.sequence < current.sequence) {
      return { status: 'ERROR', result: rejectionResult({ code: 'txBadSeq' }, 0n) };
    }
    if (!next.feeBump || next.sequence !== current.sequence) return { status: 'TRY_AGAIN_LATER' };
    const minimum = replacementFee(current, next);
    if (inclusionFee(next) >= minimum) return null;
    return { status: 'ERROR', result: rejectionResult({ code: 'txInsufficientFee' }, minimum) };
  }

  return {
    submit(transaction, context, ledger) {
      if ((bannedUntil.get(transaction.hash) ?? 0) >= ledger) return { status: 'TRY_AGAIN_LATER' };
      const current = waiting.get(transaction.source);
      const refusal = current ? refusalBeside(current.transaction, transaction) : null;
      if (refusal) return refusal;
      const result = rejectionOf(transaction, context);
      if (result) return { status: 'ERROR', result };
      if (!current && waiting.size >= MAX_WAITING) return { status: 'TRY_AGAIN_LATER' };
      waiting.set(transaction.source, { transaction, age: current?.age ?? 0 });
      return { status: 'PENDING' };
    },
    waiting: () => [...waiting.values()].map((entry) => entry.transaction),
    settle(landed, context, ledger) {
      for (const transaction of landed) waiting.delete(transaction.source);
      for (const [source, entry] of waiting) {
        entry.age += 1;
        const isDropped =
          entry.age >= options.timeoutLedgers || rejectionOf(entry.transaction, context) !== null;
        if (!isDropped) continue;
        waiting.delete(source);
        bannedUntil.set(entry.transaction.hash, ledger + BAN_LEDGERS);
      }
      for (const [hash, until] of bannedUntil) if (until < ledger) bannedUntil.delete(hash);
    },
    drop(hash) {
      for (const [source, { transaction }] of waiting) {
        if (transaction.hash !== hash && transaction.innerHash !== hash) continue;
        return waiting.delete(source);
      }
      return false;
    },
  };
}

/** In the rate per operation, ten times what waits. */
function replacementFee(current: OpenedTransaction, next: OpenedTransaction): bigint {
  const fee = REPLACEMENT_FACTOR * inclusionFee(current) * operationCount(next);
  const count = operationCount(current);
  return (fee + count - 1n) / count;
}
