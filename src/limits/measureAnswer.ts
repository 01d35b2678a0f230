/**
 * How many bytes an answer takes as text, counted before the text is made: what is over the limit takes no memory for
 * it. estimateAnswer.ts estimates the same before anything runs, from what types allow.
 */
import { ReadyJson } from '../lib/readyJson.ts';
import { requireAtMost } from './tooLarge.ts';

/** A whole registry with the longest texts in all of its fields has 20 MiB. */
export const MAX_WRITTEN_BYTES = 24 * 1024 * 1024;
/** What a mutation's answer may be estimated at: it has had its effect, and can't be refused by then. */
export const LARGE_BYTES = 256 * 1024;
/** Of a number, a boolean and null at the longest; most are shorter. */
const SCALAR_BYTES = 8;
/** Quotes, colon and comma. */
const PUNCTUATION_BYTES = 4;

export function bytesOfName(name: string): number {
  return name.length + PUNCTUATION_BYTES;
}

export function bytesOfScalar(value: unknown): number {
  return typeof value === 'string' ? Buffer.byteLength(value) + PUNCTUATION_BYTES : SCALAR_BYTES;
}

/**
 * @returns at most a quarter less than the text has, where it consists of characters that JSON escapes
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
