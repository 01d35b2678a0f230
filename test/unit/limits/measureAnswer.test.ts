/**
 * An answer is measured before its text is made.
 */
import { expect, it } from 'vitest';
import { MAX_WRITTEN_BYTES, measureAnswer } from '../../../src/limits/measureAnswer.ts';

const record = {
  index: 17,
  tonnes: '5',
  note: 'für den Wald',
  isLast: false,
  project: null,
  nested: [{ a: 1 }, { a: 2 }],
};

it('counts about what the text has, in UTF-8', () => {
  const data = { records: Array.from({ length: 1_000 }, () => record) };
  const actual = Buffer.byteLength(JSON.stringify(data));
  expect(measureAnswer(data) / actual).toBeGreaterThan(0.8);
  expect(measureAnswer(data) / actual).toBeLessThan(1.5);
});

it('stops at the limit, before it has seen the rest', () => {
  const note = 'x'.repeat(1_000);
  let reads = 0;
  const counted = new Proxy({ note }, { get: (target, name) => ((reads += 1), Reflect.get(target, name)) });
  const data = Array.from({ length: 1_000 }, () => counted);
  expect(() => measureAnswer(data, 10_000)).toThrow(/OPERATION_TOO_LARGE|too large/);
  expect(reads).toBeLessThan(20);
});

it('lets a whole registry with the longest texts pass', () => {
  const longest = { ...record, note: 'x'.repeat(1_024), beneficiary: 'x'.repeat(256) };
  expect(() =>
    measureAnswer(
      Array.from({ length: 10_000 }, () => ({
        ...longest,
        ...Object.fromEntries(Array.from({ length: 6 }, (_, i) => [`field${i}`, 'y'.repeat(70)])),
      })),
    ),
  ).not.toThrow();
  expect(MAX_WRITTEN_BYTES).toBe(24 * 1024 * 1024);
});
