import { expect, it } from 'vitest';
import { createFrequentStatements } from '../../../src/db/frequentStatements.ts';

it('keeps what comes again, and neither lists of values nor more than connections can hold', () => {
  const isFrequent = createFrequentStatements();
  expect([1, 2, 3, 4].map(() => isFrequent('SELECT 1 WHERE a = $1'))).toEqual([false, false, true, true]);

  const list = `SELECT 1 WHERE a IN (${'$1, '.repeat(2_000)})`;
  expect([1, 2, 3, 4].map(() => isFrequent(list))).not.toContain(true);

  for (let i = 0; i < 10_000; i++) expect(isFrequent(`SELECT ${i}`)).toBe(false);
  const texts = Array.from({ length: 10_000 }, (_, i) => `SELECT ${i} WHERE a = $1`);
  const kept = texts.filter((text) => [1, 2, 3].map(() => isFrequent(text)).includes(true));
  expect(kept.length).toBeGreaterThan(50);
  expect(kept.length).toBeLessThan(1_000);
  expect(isFrequent('SELECT 1 WHERE a = $1')).toBe(true);
});
