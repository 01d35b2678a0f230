/**
 * Limits of answers: bytes of each answer, computing time of an address, and memory of all answers that are
 * being sent. A client that reads slowly holds its answer until it has read it.
 */
import type { ExecutionResult } from 'graphql';
import { overloaded } from '../../lib/concurrencyLimit.ts';
import { addressKey } from '../../lib/addressKey.ts';
import { MAX_WRITTEN_BYTES, measureAnswer } from '../../limits/measureAnswer.ts';
import { createCounters } from '../../limits/counters.ts';
import type { ChargeCpu } from './chargeCpu.ts';
import type { TransportContext } from './transportContext.ts';

/**
 * The number of connections and the sixteen requests that wait on each bound the memory of smaller answers.
 * At 256 kB each, the answers of one address would take gigabytes.
 */
const COUNTED_BYTES = 8 * 1024;
/**
 * Bytes of answers that are being made and sent. The text of an answer takes as much memory again while it is
 * written.
 */
const MAX_SENDING_BYTES = 256 * 1024 * 1024;
const MAX_SENDING_BYTES_PER_ADDRESS = 64 * 1024 * 1024;
/** Executing and writing a megabyte takes about 50 ms. */
export const BYTES_PER_MS = 20 * 1024;

/** @throws DomainError OPERATION_TOO_LARGE, OVERLOADED */
export type LimitAnswer = (result: ExecutionResult, context: TransportContext) => void;

export function createAnswerLimits(charge: ChargeCpu): LimitAnswer {
  const sending = createCounters(MAX_SENDING_BYTES, MAX_SENDING_BYTES_PER_ADDRESS);
  return ({ data }, context) => {
    // An answer over the limit was computed, too: if it were free, it could be asked for again and again.
    let bytes = MAX_WRITTEN_BYTES;
    try {
      bytes = measureAnswer(data);
    } finally {
      // Small answers are charged, too: at 7 kB each, those of one connection took four fifths of a
      // processor.
      charge(context.remoteAddress, bytes / BYTES_PER_MS);
    }
    if (bytes < COUNTED_BYTES) return;
    const sent = sending.open(addressKey(context.remoteAddress), bytes);
    if (sent === null) throw overloaded();
    context.whenSent(sent);
  };
}
