/**
 * The outcome of a transaction that was sent, or may have been sent.
 *
 *   receipt at or below the final block, in a block of that chain ──▶ succeeded, or why it was reverted:
 *       a contract's reason ──▶ refused      out of gas, or a reason that does not repeat ──▶ dead
 *   receipt above the final block ──▶ pending: a reorganisation may still take it away
 *   no receipt, nonce unused at the final block ──▶ pending
 *   no receipt, nonce used at the final block:
 *       another transaction is found in the chain with that nonce ──▶ dead
 *       this one is found ──▶ not decided: the node showed no receipt, but there is one
 *       none is found ──▶ pending: the node contradicts itself
 *       history too old to decide ──▶ undeterminable
 *   refused or dead, on a chain that contradicts the final history ──▶ not decided
 *
 * Each decision uses one batch of answers, tied to one block by its hash. A transaction that is neither
 * landed nor dead at a final block is asked about again once another block is final.
 */
import { LRUCache } from 'lru-cache';
import type { Address, Hash } from 'viem';
import { ChainReorganised, NetworkUnavailable } from '../port.ts';
import type { Outcome, SentTransaction } from '../port.ts';
import type { Pin } from './finality.ts';
import { valueOf } from './jsonRpc.ts';
import { findNonceUse } from './sequenceUse.ts';
import { ask } from './node.ts';
import type { Receipt, Transaction } from './node.ts';
import { isSame, resultOf } from './results.ts';
import { outcomeOfRevert, type OutcomeDeps } from './failures.ts';

/** Neither landed nor dead in the state of the final block, which stays so until another block is final. */
const UNDECIDED_AT_FINAL: Outcome = { status: 'pending' };
/** Far more than are under way. The oldest are forgotten, and asked about again. */
const MAX_UNDECIDED = 1_000;

export function createOutcomes(deps: OutcomeDeps): (sent: SentTransaction) => Promise<Outcome> {
  /**
   * The hashes of transactions that were undecided at the last look, with the hash of the final block then.
   */
  const undecided = new LRUCache<string, Hash>({ max: MAX_UNDECIDED });

  async function outcomeAt(pin: Pin, sent: Numbered): Promise<Outcome> {
    const { hash } = sent;
    if (undecided.get(hash) === pin.final.hash) return UNDECIDED_AT_FINAL;
    const outcome = await decide(deps, pin, sent);
    if (outcome === UNDECIDED_AT_FINAL) undecided.set(hash, pin.final.hash);
    return requireAccepted(pin, sent, outcome);
  }

  return async (sent) => {
    const { sequence } = sent;
    if (sequence === null) {
      return {
        status: 'undeterminable',
        reason: 'Every transaction of this network has a nonce; this one names none',
      };
    }
    return deps.finality.onFinalBlock((pin) => outcomeAt(pin, { ...sent, sequence }));
  };
}

/**
 * A refusal releases reserved value, and a death makes the call be signed anew. On a branch that contradicts
 * the final history, and that is not accepted, either would be done in addition to the effect of the same
 * bytes on the former chain. A success counts at once: the call is sent again if the network undoes it.
 * @throws ChainReorganised
 */
function requireAccepted({ rewritten }: Pin, { hash }: SentTransaction, outcome: Outcome): Outcome {
  if (rewritten === null || (outcome.status !== 'refused' && outcome.status !== 'dead')) return outcome;
  const found =
    outcome.status === 'refused' ? `refused in block ${outcome.ledger}` : `dead (${outcome.proof})`;
  throw new ChainReorganised(`${hash} is ${found}, which counts once that history is accepted. ${rewritten}`);
}

/** With a state by number, the node may have answered for another block, so the outcome is not remembered. */
function undecidedAt({ state }: Pin): Outcome {
  return typeof state === 'object' ? UNDECIDED_AT_FINAL : { status: 'pending' };
}

type Numbered = SentTransaction & { sequence: bigint };

async function decide(deps: OutcomeDeps, pin: Pin, sent: Numbered): Promise<Outcome> {
  const hash = sent.hash as Hash;
  const source = sent.source as Address;
  const [receiptAnswer, transactionAnswer, countAnswer] = await deps.finality.askTogether(pin, [
    ask.receipt(hash),
    ask.transaction(hash),
    ask.transactionCount(source, pin.state),
  ]);
  const receipt = valueOf(receiptAnswer);
  if (receipt === null) {
    return valueOf(countAnswer) > sent.sequence ? provedDead(deps, pin, sent) : undecidedAt(pin);
  }
  const transaction = valueOf(transactionAnswer);
  for (const shown of [receipt.transactionHash, transaction?.hash ?? hash]) requireSame(shown, hash);
  if (receipt.blockNumber > pin.final.number) {
    return valueOf(countAnswer) > sent.sequence ? { status: 'pending' } : undecidedAt(pin);
  }
  if (transaction === null || valueOf(countAnswer) <= sent.sequence) {
    throw new NetworkUnavailable(`The node's answers about ${hash} contradict each other`);
  }
  return landed(deps, pin, receipt, transaction);
}

/**
 * Something between this platform and its node may mix up answers: another call's receipt would settle this
 * one.
 */
function requireSame(shown: Hash, asked: Hash): void {
  if (isSame(shown, asked)) return;
  throw new NetworkUnavailable(`The node shows another transaction in place of ${asked}: ${shown}`);
}

async function landed(
  deps: OutcomeDeps,
  pin: Pin,
  receipt: Receipt,
  transaction: Transaction,
): Promise<Outcome> {
  const ledger = receipt.blockNumber;
  const [blockAnswer] = await deps.finality.askTogether(pin, [ask.block(ledger)]);
  const block = valueOf(blockAnswer);
  if (block?.hash !== receipt.blockHash) return { status: 'pending' };
  if (receipt.status === 0n) return outcomeOfRevert(deps, pin, receipt, transaction);
  const result = resultOf(transaction, receipt);
  if (result) return { status: 'succeeded', ledger, result };
  return {
    status: 'undeterminable',
    reason: `${receipt.transactionHash} landed in block ${ledger}, but its contract logged no result`,
  };
}

async function provedDead(deps: OutcomeDeps, pin: Pin, sent: Numbered): Promise<Outcome> {
  const { hash, source, sequence, preparedAtLedger } = sent;
  if (!(await isUsedUp(deps, pin, sent))) return { status: 'pending' };
  const use = await findNonceUse(deps.finality, pin, {
    source: source as Address,
    nonce: sequence,
    signedAt: preparedAtLedger,
  });
  if (use === 'unused') return { status: 'pending' };
  if (use === 'unknown') {
    if (!(await isUsedUp(deps, pin, sent))) return { status: 'pending' };
    return {
      status: 'undeterminable',
      reason: `Nonce ${sequence} of ${source} is used up, but the node no longer has the history that shows by what`,
    };
  }
  if (isSame(use.hash, hash)) {
    throw new NetworkUnavailable(`The node gives no receipt for ${hash}, though block ${use.block} holds it`);
  }
  return {
    status: 'dead',
    proof: `Nonce ${sequence} of ${source} was used by ${use.hash} in block ${use.block}; block ${pin.final.number} is final`,
    usedBy: use.hash,
  };
}

/**
 * Asks again before anything is concluded: while a node makes a block, it may count that block's transactions
 * in the state of the block before.
 */
async function isUsedUp({ finality }: OutcomeDeps, pin: Pin, sent: Numbered): Promise<boolean> {
  const [count] = await finality.askTogether(pin, [ask.transactionCount(sent.source as Address, pin.state)]);
  return valueOf(count) > sent.sequence;
}
