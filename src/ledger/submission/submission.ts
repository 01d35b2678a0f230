/**
 * Submission: the durable way from an intent to a settled network transaction.
 *
 *   intent     a row, written in the transaction of the books entry it belongs to (`enqueue`)
 *   attempt    signed bytes and their hash, committed before they are sent (`signAttempt`)
 *   step       one step of one submission: sign, send, ask, settle (`step`)
 *   settle     the network's final outcome and its effects, in one transaction (`settle`)
 *   slots      the account and sequence that sign next, on networks with sequences (`sequenceSlots`)
 *   worker     claims due submissions, on any number of instances, and steps them (`worker`)
 *
 * Only the network's final outcome settles a submission. Two instances may work on the same submission: the
 * database admits one open attempt besides its replacements, which share its slot; the same bytes land once;
 * and settling is decided under the submission's row lock.
 */
import type { Clock, IdSource } from '../../lib/clock.ts';
import type { Db } from '../../db/connection.ts';
import type { ChangeSignal } from '../../db/changeSignal.ts';
import type { Logger } from '../../lib/logger.ts';
import type { LedgerNetwork } from '../network/port.ts';
import type { EffectsTable } from './effects.ts';

/**
 * Crash points for tests, in the order in which each network call passes them; the product passes a no-op.
 */
export const CRASH_POINTS = [
  'attempt-signed',
  'attempt-committed',
  'broadcast-sent',
  'outcome-known',
  'settlement-uncommitted',
  'settlement-committed',
] as const;
export type CrashPoint = (typeof CRASH_POINTS)[number];

/** Key in the state signal for "there is a new submission". */
export const NEW_SUBMISSION = 'new';

export interface SubmissionDependencies {
  db: Db;
  network: LedgerNetwork;
  effects: EffectsTable;
  /**
   * Compares books and network while no call is under way, and returns their differences: none when the
   * transactions sent elsewhere with custody's key left the platform's tokens alone.
   * @throws NetworkUnavailable
   */
  reconcile: () => Promise<string[]>;
  /** Notified with a target's id when the state of its submission changed. */
  stateSignal: ChangeSignal;
  clock: Clock;
  ids: IdSource;
  random: () => number;
  log: Logger;
  crashPoint: (point: CrashPoint) => Promise<void>;
}
