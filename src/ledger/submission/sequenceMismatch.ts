/**
 * The errors that stop signing: network and database disagree about the sequences of a signing account.
 */
import type { Address } from '../network/port.ts';

/** Network and database disagree about what a signing account has sent. */
export abstract class SequenceMismatch extends Error {
  readonly address: Address;

  constructor(address: Address, message: string) {
    super(message);
    this.address = address;
  }
}

/**
 * The network has seen transactions of a signing account that this database does not know: the key is used
 * elsewhere, or the database was restored from a backup. A call without a known attempt may have been made.
 */
export class SequenceAhead extends SequenceMismatch {
  override readonly name = 'SequenceAhead';
}

/**
 * The network reports a sequence as unused whose transaction this database has seen in a ledger: the node is
 * behind, or the network was rolled back below finality. A call that had landed may be rolled back.
 */
export class SequenceBehind extends SequenceMismatch {
  override readonly name = 'SequenceBehind';
  readonly sequence: bigint;
  readonly ledger: bigint;

  constructor(address: Address, seen: { sequence: bigint; ledger: bigint }) {
    super(
      address,
      `sequence ${seen.sequence} of ${address} landed in ledger ${seen.ledger}, but the network calls it unused: it was ` +
        'rolled back below finality, or the node was restored from an older state',
    );
    this.sequence = seen.sequence;
    this.ledger = seen.ledger;
  }
}
