/**
 * Submission: the durable way from an intent to a settled network transaction.
 *
 *   intent     a row, written in the transaction of the books entry it belongs to (`enqueue`)
 *   attempt    signed bytes and their hash, committed before they are sent (`signAttempt`)
 *   step       one look at one submission: sign, send, ask, settle (`step`)
 *   settle     the network's final word and what it means, in one transaction (`settle`)
 *   slots      which account signs next and with which sequence, where the network numbers transactions (`slots`)
 *   worker     claims due submissions, on any number of instances, and steps them (`worker`)
 *
 * Nothing but the network's final word settles a submission. Two instances that work on the same one by
 * accident are harmless: the database admits one open attempt per submission, the same bytes land once, and
 * settling is decided under the submission's row lock.
 */
import type { Clock, IdSource } from '../../clock.ts';
import type { Db } from '../../db/connection.ts';
import type { Doorbell } from '../../db/doorbell.ts';
import type { Logger } from '../../logger.ts';
import type { LedgerNetwork } from '../network/port.ts';
import type { EffectsByKind } from './effects.ts';

/** Places where a crash is worth testing; the product passes a function that does nothing. */
export type Checkpoint =
  | 'attempt-signed'
  | 'attempt-committed'
  | 'broadcast-sent'
  | 'outcome-known'
  | 'settlement-uncommitted'
  | 'settlement-committed';

/** The subjects doorbell's key for "there is a new submission". */
export const NEW_SUBMISSION = 'new';

export interface SubmissionDependencies {
  db: Db;
  network: LedgerNetwork;
  effects: EffectsByKind;
  /**
   * Compares books and network while nothing is under way, and tells what they disagree on: nothing when whatever
   * else was sent with custody's key left the platform's tokens alone. @throws NetworkUnavailable
   */
  reconcile: () => Promise<string[]>;
  /** Rings with a subject's id when the state of its submission changed. */
  subjects: Doorbell;
  clock: Clock;
  ids: IdSource;
  random: () => number;
  log: Logger;
  checkpoint: (point: Checkpoint) => Promise<void>;
}
