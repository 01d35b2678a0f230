/**
 * Counts the bytes of an answer as text before the text is made: an answer over the limit takes no memory for
 * it. estimateAnswer.ts estimates the same before anything runs, from the types.
 */
import { ReadyJson } from '../lib/readyJson.ts';
import { requireAtMost } from './tooLarge.ts';

/** A whole registry with the longest texts in all of its fields has 20 MiB. */
export const MAX_WRITTEN_BYTES = 24 * 1024 * 1024;
/** Maximum estimate of a mutation's answer, which can't be refused once the mutation has had its effect. */
export const LARGE_BYTES = 256 * 1024;
/** Maximum bytes of a number, a boolean or null; most are shorter. */
const SCALAR_BYTES = 8;
/** Quotes, colon and comma. */
const PUNCTUATION_BYTES = 4;

/** Bytes of a field's name with its quotes, colon and comma. */
export function bytesOfName(name: string): number {
  return name.length + PUNCTUATION_BYTES;
}

/** Bytes of a leaf value as JSON: a text without its escapes, and SCALAR_BYTES for every other value. */
export function bytesOfScalar(value: unknown): number {
  return typeof value === 'string' ? Buffer.byteLength(value) + PUNCTUATION_BYTES : SCALAR_BYTES;
}

/**
 * @returns the bytes; at most a quarter too few, if the text consists of characters that JSON escapes
 * @throws DomainError OPERATION_TOO_LARGE, as soon as the limit is passed
 */
export function measureAnswer(data: unknown, limit: number = MAX_WRITTEN_BYTES): number {
  let bytes = 0;
  const add = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) bytes += bytesOfScalar(value);
    else if (value instanceof ReadyJson) bytes += value.bytes;
    else if (Array.isArray(value)) for (const entry of value) add(entry);
    else {
      for (const name in value) {
        bytes += bytesOfName(name);
        add((value as Record<string, unknown>)[name]);
      }
    }
    if (bytes > limit) requireAtMost(limit, 'ANSWER_BYTES', bytes);
  };
  add(data);
  return bytes;
}
