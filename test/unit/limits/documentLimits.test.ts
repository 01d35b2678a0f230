import { expect, it } from 'vitest';
import { requireVariablesWithinLimits } from '../../../src/limits/documentLimits.ts';

const many = Array.from({ length: 2_000 }, () => 1);

it.each([
  ['a list', { list: many }],
  ['a list beside null', { list: many, last: null }],
  ['lists in lists', { list: [[many.slice(1_000)], [many.slice(1_000), null]] }],
])('counts the values of variables in %s', (_what, variables) => {
  expect(() => requireVariablesWithinLimits(variables)).toThrow(
    /its number of values in variables is \d+, and at most 2000 is accepted/,
  );
});

it('lets the longest lists of a filter pass, and null', () => {
  expect(() =>
    requireVariablesWithinLimits({ filter: { ids: many.slice(1_900), after: null } }),
  ).not.toThrow();
});
