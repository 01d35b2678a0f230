/**
 * What answers may take: each one a number of bytes, those of an address computing time, and all that are being sent
 * a part of the memory. A client that reads slowly holds its answer until it has read it.
 */
import type { ExecutionResult } from 'graphql';
import { overloaded } from '../../lib/concurrencyLimit.ts';
import { addressKey } from '../../lib/addressKey.ts';
import { MAX_WRITTEN_BYTES, measureAnswer } from '../../limits/measureAnswer.ts';
import { createCounters } from '../../limits/counters.ts';
import type { ChargeCpu } from './chargeCpu.ts';
import type { TransportContext } from './transportContext.ts';

/**
 * The memory of smaller answers is bounded by the number of connections, and the sixteen requests that wait on one. Of 256 kB each, those
 * of one address would take gigabytes.
 */
const COUNTED_BYTES = 8 * 1024;
/** Answers that are being made and sent; as text alone, one takes as much again while it is written. */
const MAX_SENDING_BYTES = 256 * 1024 * 1024;
const MAX_SENDING_BYTES_PER_ADDRESS = 64 * 1024 * 1024;
/** Executing and writing a megabyte takes about 50 ms. */
export const BYTES_PER_MS = 20 * 1024;

/** @throws DomainError OPERATION_TOO_LARGE, OVERLOADED */
export type LimitAnswer = (result: ExecutionResult, context: TransportContext) => void;

export function createAnswerLimits(charge: ChargeCpu): LimitAnswer {
  const sending = createCounters(MAX_SENDING_BYTES, MAX_SENDING_BYTES_PER_ADDRESS);
  return ({ data }, context) => {
    // What is over the limit was computed, too: free, it could be asked for again and again.
    let bytes = MAX_WRITTEN_BYTES;
    try {
      bytes = measureAnswer(data);
    } finally {
      // Small ones, too: of 7 kB each, one connection alone took four fifths of a processor.
      charge(context.remoteAddress, bytes / BYTES_PER_MS);
    }
    if (bytes < COUNTED_BYTES) return;
    const sent = sending.open(addressKey(context.remoteAddress), bytes);
    if (sent === null) throw overloaded();
    context.whenSent(sent);
  };
}
