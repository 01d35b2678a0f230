/**
 * docs/invariants.md has a row for each invariant that a reconciliation proves, and no other row.
 */
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { INVARIANTS } from '../../../src/reconciliation/verdicts.ts';

it('the table of invariants names those of the code', async () => {
  const page = await readFile(new URL('../../../docs/invariants.md', import.meta.url), 'utf8');
  const numbers = [...page.matchAll(/^\| (I\d+) +\|/gm)].map(([, number]) => number);
  expect(numbers).toEqual(Object.keys(INVARIANTS));
});
