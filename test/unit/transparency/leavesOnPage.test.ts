/**
 * docs/transparency.md names each member of an entry in the log of transfers, for readers who verify an entry
 * without this program.
 */
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { TRANSFER_LEAF } from '../../../src/transparency/leaves.ts';

const written = [...TRANSFER_LEAF.matchAll(/"(\w+)":/g)].map(([, name = '']) => name);

it('is described member by member', async () => {
  const page = await readFile(new URL('../../../docs/transparency.md', import.meta.url), 'utf8');
  const rows = page.slice(
    page.indexOf('Entries of the log of transfers are'),
    page.indexOf('Entries of the audit'),
  );
  const described = [...rows.matchAll(/^\|([^|]*)\|/gm)].flatMap(([, first = '']) =>
    first.startsWith(' Member') ? [] : [...first.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
  );
  expect(described.sort()).toEqual(written.toSorted());
});

it('says the unit of each balance and each time in its name', () => {
  const measured = written.filter((name) => /Balance|At/.test(name));
  expect(measured.length).toBeGreaterThan(3);
  expect(measured.filter((name) => !/(Tonnes|Micros)$/.test(name))).toEqual([]);
});
