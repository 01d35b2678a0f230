/**
 * Each column, deletion and forged row of each table is covered: by the invariant that a change without the
 * database's rules breaks, or by the reason, listed in docs/invariants.md, why nothing is found.
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

/**
 * Tables without rows, about which nothing is claimed: the history has no server, indexer, administrator,
 * submission under review or reconciliation, its network has no channels, and its logs are complete.
 */
const EMPTY = [
  'final_ledger',
  'indexer_events',
  'indexer_registrations',
  'operator_decisions',
  'rate_limits',
  'reconciled_invariants',
  'signing_accounts',
  'signing_halts',
  'token_revocations',
  'transparency_open_entries',
];

/** A limit for hangs only: the hundreds of changes take seconds on an idle machine. */
const PATIENCE_MS = 600_000;
/** The time in which other tests have ended their transactions. */
const OPEN_ELSEWHERE_MS = 60_000;

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

it('the history has rows of each table', () => {
  const walked = new Set(walk.corruptions.map(({ table }) => table));
  expect([...COLUMNS.keys()].filter((table) => !walked.has(table))).toEqual(EMPTY);
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
    const ofThis = walk.corruptions.filter(
      (one) => !isToBeFound(one) && one.name.endsWith(` ${what}`) && !HIDDEN_BY_ANOTHER_ROW.test(one.name),
    );
    // An open transaction in any database delays the log of transfers, which is then reported.
    await expect.poll(() => walk.findAll(statementsOf(ofThis)), { timeout: OPEN_ELSEWHERE_MS }).toEqual([]);
  },
  PATIENCE_MS,
);

it('docs/invariants.md lists what is not found', async () => {
  const page = await readFile(new URL('../../../docs/invariants.md', import.meta.url), 'utf8');
  expect(page).toContain(printNotFound());
});

/** The session's review hides this change, and is changed among the other rows. */
const HIDDEN_BY_ANOTHER_ROW = /^manual_ramp_statuses(\.(status|session_id))? of \w+ reviewed /;

function isToBeFound({ place, name }: GeneratedCorruption): boolean {
  const { by = [], except } = COVERAGE.get(place) ?? {};
  return by.length > 0 && !except?.test(name);
}

/** One statement a row for all its columns, with all changes of a column (JSON). */
function statementsOf(corruptions: readonly GeneratedCorruption[]): string[] {
  const rows = new Map<string, { table: string; row: string; sets: Map<string, string> }>();
  for (const { table, row, set } of corruptions) {
    if (set === undefined) continue;
    const { sets } = rows.get(`${table} ${row}`) ?? { sets: new Map<string, string>() };
    const earlier = sets.get(set.column) ?? set.column;
    sets.set(
      set.column,
      set.to.replace(`jsonb_set(${set.column}`, () => `jsonb_set(${earlier}`),
    );
    rows.set(`${table} ${row}`, { table, row, sets });
  }
  const updates = [...rows.values()].map(({ table, row, sets }) =>
    updateOf(
      table,
      row,
      [...sets].map(([column, to]) => ({ column, to })),
    ),
  );
  return [...corruptions.filter(({ set }) => set === undefined).map(({ sql }) => sql), ...updates];
}
