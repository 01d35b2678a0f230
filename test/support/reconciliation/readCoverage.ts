/**
 * Reads the coverage of columns, deletions and forged rows: by their names, and as docs/invariants.md lists
 * them.
 */
import type { Invariant } from '../../../src/reconciliation/verdicts.ts';
import { COVERAGE, type Places } from './columnCoverage.ts';

interface Coverage {
  by: readonly Invariant[];
  except?: RegExp;
  because?: string;
}

/** Keys are `table.column`, `table.DELETED` and `table.FORGED`. @throws Error when a place occurs twice */
export function coverageByName(
  columnsOf: ReadonlyMap<string, readonly string[]>,
): ReadonlyMap<string, Coverage> {
  const found = new Map<string, Coverage>();
  for (const [table, { partly = [], notFound = [], ...held }] of Object.entries(COVERAGE)) {
    const add = (places: Places, coverage: Coverage) => {
      const everything = [...(columnsOf.get(table) ?? []), 'DELETED', 'FORGED'];
      for (const place of places === '*' ? everything : places.trim().split(/\s+/)) {
        if (found.has(`${table}.${place}`)) throw new Error(`${table}.${place} is there twice`);
        found.set(`${table}.${place}`, coverage);
      }
    };
    for (const [invariant, places] of Object.entries(held)) add(places, { by: [invariant as Invariant] });
    for (const { places, ...coverage } of partly) add(places, coverage);
    for (const [because, places] of notFound) add(places, { by: [], because });
  }
  return found;
}

/** Prints, for docs/invariants.md, each reason with the places that are not found for it. */
export function printNotFound(): string {
  const byReason = new Map<string, string[]>();
  const add = (because: string, table: string, places: Places, sometimes: boolean) => {
    const words = places.trim().split(/\s+/);
    const rows = words.flatMap((word) =>
      word === 'DELETED' ? ['deleted rows'] : word === 'FORGED' ? ['forged rows'] : [],
    );
    const columns = words
      .filter((word) => !['DELETED', 'FORGED', '*'].includes(word))
      .map((word) => `\`${word}\``);
    const text =
      words[0] === '*'
        ? `\`${table}\``
        : `\`${table}\` (${[...columns, ...rows].join(', ')}${sometimes ? ', of some rows' : ''})`;
    byReason.set(because, [...(byReason.get(because) ?? []), text]);
  };
  for (const [table, { partly = [], notFound = [] }] of Object.entries(COVERAGE)) {
    for (const [because, places] of notFound) add(because, table, places, false);
    for (const { because, places } of partly) if (because !== undefined) add(because, table, places, true);
  }
  return [...byReason].map(([because, places]) => `- ${because}: ${places.join('; ')}`).join('\n');
}
