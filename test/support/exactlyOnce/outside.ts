/**
 * The outside world of the exactly-once model: a ledger network and a ramp provider. They keep what they
 * receive, decide at any time, and never forget. All functions are synchronous; instance.ts decides what is
 * lost on the way.
 */
import {
  NetworkRefusal,
  type NetworkCall,
  type Outcome,
  type Refusal,
} from '../../../src/ledger/network/port.ts';
import type { RampStatus } from '../../../src/ramp/port.ts';

/** A signed transaction. Only its hash distinguishes it from the same call signed again. */
export interface SimulatedTransaction {
  hash: string;
  call: NetworkCall;
  validUntil: number;
}

export interface SimulatedNetwork {
  now: number;
  /** While true, the contracts refuse every call. */
  isPaused: boolean;
  /** While true, the node lacks the history that shows outcomes. */
  isForgetful: boolean;
  /** Number of burns that took effect, by the note that names their intent. */
  burns: Map<string, number>;
  deposits: Map<string, 'PENDING' | 'SETTLED' | 'REFUNDED'>;
  receive(transaction: SimulatedTransaction): void;
  /** Includes one of the waiting transactions, unless it came too late; paused contracts refuse it. */
  include(choice: number): void;
  /** Forgets the waiting transactions, as a restarted node does. */
  dropWaiting(): void;
  /** @throws NetworkRefusal */
  simulate(call: NetworkCall): void;
  outcome(transaction: SimulatedTransaction): Outcome;
  canStillLand(transaction: SimulatedTransaction): boolean;
}

export function createNetwork(): SimulatedNetwork {
  const waiting = new Map<string, SimulatedTransaction>();
  const included = new Map<string, Outcome>();
  const network: SimulatedNetwork = {
    now: 0,
    isPaused: false,
    isForgetful: false,
    burns: new Map(),
    deposits: new Map(),
    receive(transaction) {
      if (!included.has(transaction.hash)) waiting.set(transaction.hash, transaction);
    },
    include(choice) {
      const transaction = [...waiting.values()][choice % Math.max(waiting.size, 1)];
      if (!transaction) return;
      waiting.delete(transaction.hash);
      if (network.now > transaction.validUntil) return;
      included.set(transaction.hash, execute(transaction.call));
    },
    dropWaiting: () => waiting.clear(),
    simulate(call) {
      const refusal = objectionTo(call);
      if (refusal) throw new NetworkRefusal(refusal);
    },
    outcome(transaction) {
      if (network.isForgetful) return { status: 'undeterminable', reason: 'history is gone' };
      const known = included.get(transaction.hash);
      if (known) return known;
      return network.canStillLand(transaction)
        ? { status: 'pending' }
        : { status: 'dead', proof: `its time ended at ${transaction.validUntil}` };
    },
    canStillLand: ({ hash, validUntil }) => !included.has(hash) && network.now <= validUntil,
  };

  function objectionTo(call: NetworkCall): Refusal | null {
    if (network.isPaused) return { reason: 'PAUSED', message: 'paused' };
    const deposit = 'sessionId' in call ? network.deposits.get(call.sessionId) : undefined;
    if (call.kind === 'depositOffRamp' && deposit !== undefined) {
      return { reason: 'REFERENCE_ALREADY_USED', message: 'deposited before' };
    }
    const isRelease = call.kind === 'confirmOffRampSettlement' || call.kind === 'refundOffRamp';
    return isRelease && deposit !== 'PENDING' ? { reason: 'WRONG_STATUS', message: `is ${deposit}` } : null;
  }

  function execute(call: NetworkCall): Outcome {
    const refusal = objectionTo(call);
    const ledger = BigInt(network.now);
    if (refusal) return { status: 'refused', ledger, refusal };
    const landed = { status: 'succeeded', ledger, closedAt: ledger } as const;
    if (call.kind === 'retire') {
      network.burns.set(call.note, (network.burns.get(call.note) ?? 0) + 1);
      return { ...landed, result: { kind: 'retired', retirementIndex: 0 } };
    }
    if (!('sessionId' in call)) throw new Error(`the model has no ${call.kind}`);
    const next = {
      depositOffRamp: 'PENDING',
      confirmOffRampSettlement: 'SETTLED',
      refundOffRamp: 'REFUNDED',
    } as const;
    network.deposits.set(call.sessionId, next[call.kind]);
    return { ...landed, result: { kind: 'done' } };
  }

  return network;
}

export interface SimulatedProvider {
  /** Payouts by the platform's reference, which is also the provider's name of a session here. */
  payouts: Map<string, RampStatus>;
  open(reference: string): RampStatus;
  close(reference: string): RampStatus;
  /** Moves one payout on, without a request. */
  moveOn(choice: number, to: 'processing' | 'settled' | 'failed' | 'refunded'): void;
}

export function createProvider(): SimulatedProvider {
  const payouts = new Map<string, RampStatus>();
  const statusOf = (reference: string): RampStatus => payouts.get(reference) ?? 'failed';
  return {
    payouts,
    open(reference) {
      if (!payouts.has(reference)) payouts.set(reference, 'pending');
      return statusOf(reference);
    },
    close(reference) {
      if (statusOf(reference) === 'pending') payouts.set(reference, 'failed');
      return statusOf(reference);
    },
    moveOn(choice, to) {
      const [reference, status] = [...payouts][choice % Math.max(payouts.size, 1)] ?? [];
      if (reference === undefined || status === undefined) return;
      const next = { pending: ['processing', 'settled', 'failed'], processing: ['settled', 'failed'] };
      const isTakenBack = status === 'settled' && to === 'refunded';
      if (isTakenBack || next[status as keyof typeof next]?.includes(to)) payouts.set(reference, to);
    },
  };
}
