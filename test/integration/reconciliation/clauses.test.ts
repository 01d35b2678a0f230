/**
 * Each clause of each query of the contradictions decides about a state: a wrong one is found, and one that is
 * allowed is not.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLAUSE_CASES } from '../../support/reconciliation/clauseCases.ts';
import type { TestDatabase } from '../../support/database/database.ts';
import { createRichHistory } from '../../support/reconciliation/richHistory.ts';
import { openWalk, type Walk } from '../../support/reconciliation/walk.ts';

let history: TestDatabase;
let walk: Walk;

beforeAll(async () => {
  history = await createRichHistory();
  walk = await openWalk(history);
}, 120_000);
afterAll(async () => {
  await walk.close();
  await history.drop();
});

describe.each(Object.entries(CLAUSE_CASES))('%s', (_subject, cases) => {
  it.each(cases)('$name', async ({ sql, says = [], saysNot, inFullAlone }) => {
    const { full, incremental } = await walk.sayOf(sql);
    for (const said of inFullAlone ? [full] : [full, incremental]) {
      for (const sentence of [says].flat()) expect(said).toContainEqual(expect.stringMatching(sentence));
      if (saysNot) expect(said.filter((message) => saysNot.test(message))).toEqual([]);
    }
  });
});
