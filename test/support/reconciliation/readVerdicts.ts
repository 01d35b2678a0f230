/**
 * The verdicts about columns, deletions and forged rows, by their names and as docs/invariants.md lists them.
 */
import type { Invariant } from '../../../src/reconciliation/verdicts.ts';
import { VERDICTS, type Subjects } from './columnVerdicts.ts';

export interface Verdict {
  by: readonly Invariant[];
  except?: RegExp;
  because?: string;
}

/** By `table.column`, `table.DELETED` and `table.FORGED`. @throws Error for two verdicts about the same */
export function verdictsByName(
  columnsOf: ReadonlyMap<string, readonly string[]>,
): ReadonlyMap<string, Verdict> {
  const verdicts = new Map<string, Verdict>();
  for (const [table, { partly = [], notFound = [], ...held }] of Object.entries(VERDICTS)) {
    const add = (subjects: Subjects, verdict: Verdict) => {
      const everything = [...(columnsOf.get(table) ?? []), 'DELETED', 'FORGED'];
      for (const subject of subjects === '*' ? everything : subjects.trim().split(/\s+/)) {
        if (verdicts.has(`${table}.${subject}`)) throw new Error(`${table}.${subject} has two verdicts`);
        verdicts.set(`${table}.${subject}`, verdict);
      }
    };
    for (const [invariant, subjects] of Object.entries(held)) add(subjects, { by: [invariant as Invariant] });
    for (const { subjects, ...verdict } of partly) add(subjects, verdict);
    for (const [because, subjects] of notFound) add(subjects, { by: [], because });
  }
  return verdicts;
}

/** For docs/invariants.md: each reason, with what is not found for it. */
export function printNotFound(): string {
  const byReason = new Map<string, string[]>();
  const add = (because: string, table: string, subjects: Subjects, sometimes: boolean) => {
    const words = subjects.trim().split(/\s+/);
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
  for (const [table, { partly = [], notFound = [] }] of Object.entries(VERDICTS)) {
    for (const [because, subjects] of notFound) add(because, table, subjects, false);
    for (const { because, subjects } of partly)
      if (because !== undefined) add(because, table, subjects, true);
  }
  return [...byReason].map(([because, subjects]) => `- ${because}: ${subjects.join('; ')}`).join('\n');
}
