/**
 * What can go wrong with a node, switched on and off by a test. Numbers count down as they are used.
 */
export interface Faults {
  /** So many of the next transactions are not taken, for now. */
  tryAgainLater: number;
  /** So many of the next transactions are taken, but called known already. */
  sayDuplicate: number;
  /** So many of the next transactions are refused with a wrong sequence number, though it is right. */
  sayBadSequence: number;
  /** Of so many of the next transactions the connection is cut once they were taken. */
  loseSendAnswers: number;
  /** How requests fail, all of them, until it is set back to null. */
  unreachable: 'reset' | 'status-503' | 'truncated' | 'silent' | null;
  /** Milliseconds that each answer takes longer. */
  delayMs: number;
  /** The node answers from so many ledgers ago; what is sent to it gets through. */
  lagLedgers: number;
  /** Of so many of the next look-ups, the transaction is denied. */
  denyTransactions: number;
}

export function noFaults(): Faults {
  return {
    tryAgainLater: 0,
    sayDuplicate: 0,
    sayBadSequence: 0,
    loseSendAnswers: 0,
    unreachable: null,
    delayMs: 0,
    lagLedgers: 0,
    denyTransactions: 0,
  };
}

type Counted = 'tryAgainLater' | 'sayDuplicate' | 'sayBadSequence' | 'loseSendAnswers' | 'denyTransactions';

/** Whether the fault strikes this time. */
export function strikes(faults: Faults, fault: Counted): boolean {
  if (faults[fault] <= 0) return false;
  faults[fault] -= 1;
  return true;
}
