/**
 * Faults of a node, switched on and off by a test. Numbers count down as they are used.
 */
export interface Faults {
  /** This many of the next transactions are answered with TRY_AGAIN_LATER. */
  tryAgainLater: number;
  /** This many of the next transactions are accepted, but answered with DUPLICATE. */
  sayDuplicate: number;
  /** This many of the next transactions are refused with a wrong sequence number, although it is right. */
  sayBadSequence: number;
  /** For this many of the next transactions, the connection is cut after they were accepted. */
  loseSendAnswers: number;
  /** How all requests fail, until it is null again. */
  unreachable: 'reset' | 'status-503' | 'truncated' | 'silent' | null;
  /** Extra delay of each answer. */
  delayMs: number;
  /** The node answers from this many ledgers ago; transactions sent to it get through. */
  lagLedgers: number;
  /** For this many of the next look-ups, the transaction is reported missing. */
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
