/**
 * Each column of each table, a deletion and a forged row of it, is covered: by the invariant that is found broken when it is changed
 * with the database's rules off, or by the reason why nothing is found, which docs/invariants.md lists.
 */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestDatabase } from '../../support/database/database.ts';
import { printNotFound, coverageByName } from '../../support/reconciliation/readCoverage.ts';
import {
  TABLES,
  updateOf,
  type GeneratedCorruption,
} from '../../support/reconciliation/generatedCorruptions.ts';
import { createRichHistory } from '../../support/reconciliation/richHistory.ts';
import { openWalk, type Walk } from '../../support/reconciliation/walk.ts';

const COLUMNS = new Map(TABLES.map(({ name, columns }) => [name, columns.map((column) => column.name)]));
const COVERAGE = coverageByName(COLUMNS);

/** For hangs only: hundreds of changes, seconds on a machine that does nothing else. */
const PATIENCE_MS = 600_000;

let history: TestDatabase;
let walk: Walk;

beforeAll(async () => {
  history = await createRichHistory();
  walk = await openWalk(history);
}, PATIENCE_MS);
afterAll(async () => {
  await walk.close();
  await history.drop();
});

it('every column, deletion and forged row is covered', () => {
  const places = [...COLUMNS].flatMap(([table, columns]) =>
    [...columns, 'DELETED', 'FORGED'].map((place) => `${table}.${place}`),
  );
  expect([...COVERAGE.keys()].sort()).toEqual(places.sort());
});

it('the history has rows for all that is found', () => {
  const made = new Set(walk.corruptions.filter(isToBeFound).map(({ place }) => place));
  const claimed = [...COVERAGE].filter(([, { by }]) => by.length > 0).map(([place]) => place);
  expect(claimed.filter((place) => !made.has(place))).toEqual([]);
});

it.each([...COLUMNS.keys()])(
  '%s: what is to be found is found',
  async (table) => {
    const overlooked: string[] = [];
    for (const corruption of walk.corruptions.filter((one) => one.table === table && isToBeFound(one))) {
      const { by = [] } = COVERAGE.get(corruption.place) ?? {};
      if (!(await walk.isFound(corruption, by))) overlooked.push(corruption.name);
    }
    expect(overlooked).toEqual([]);
  },
  PATIENCE_MS,
);

it(
  'an incremental run asks each query so that it finds such changes too',
  async () => {
    const { contradictions, blind } = await walk.findBlind();
    expect(contradictions).toBeGreaterThan(50);
    expect(blind).toEqual([]);
  },
  PATIENCE_MS,
);

it.each(['changed', 'emptied', 'filled', 'deleted', 'forged'])(
  'what is said not to be found is not: %s',
  async (what) => {
    const ofThis = walk.corruptions.filter((one) => !isToBeFound(one) && one.name.endsWith(` ${what}`));
    for (const batch of batchesOf(ofThis)) expect(await walk.findAll(batch)).toEqual([]);
  },
);

it('docs/invariants.md lists what is not found', async () => {
  const page = await readFile(new URL('../../../docs/invariants.md', import.meta.url), 'utf8');
  expect(page).toContain(printNotFound());
});

function isToBeFound({ place, name }: GeneratedCorruption): boolean {
  const { by = [], except } = COVERAGE.get(place) ?? {};
  return by.length > 0 && !except?.test(name);
}

/** Of a row all columns at once, and all rows; of a column with several changes (JSON) one at a time. */
function batchesOf(corruptions: readonly GeneratedCorruption[]): string[][] {
  const whole = corruptions.filter(({ set }) => set === undefined).map(({ sql }) => sql);
  const batches: Map<string, GeneratedCorruption[]>[] = [];
  for (const corruption of corruptions.filter(({ set }) => set !== undefined)) {
    const { table, row, place } = corruption;
    const key = `${table} ${row}`;
    const hasColumn = (batch: Map<string, GeneratedCorruption[]>) =>
      batch.get(key)?.some((other) => other.place === place) ?? false;
    const batch = batches.find((one) => !hasColumn(one)) ?? batches[batches.push(new Map()) - 1];
    batch?.set(key, [...(batch.get(key) ?? []), corruption]);
  }
  const updates = batches.map((batch) =>
    [...batch.values()].map((ofRow) =>
      updateOf(
        ofRow[0]?.table ?? '',
        ofRow[0]?.row ?? '',
        ofRow.flatMap(({ set }) => set ?? []),
      ),
    ),
  );
  return [...(whole.length === 0 ? [] : [whole]), ...updates];
}
