/**
 * Introspection costs as much as the answer that it makes: the query that tools send passes, and a query that
 * repeats everything does not.
 */
import { getIntrospectionQuery, getOperationAST, parse } from 'graphql';
import { expect, it } from 'vitest';
import {
  measureIntrospection,
  requireIntrospectionWithinLimit,
} from '../../../src/limits/introspectionCost.ts';
import { schema } from '../../../src/schema/index.ts';
import { allowOneWalk, spreadOften } from '../../support/spreadFragments.ts';

function partsOf(query: string) {
  const document = parse(query);
  const operation = getOperationAST(document);
  if (!operation) throw new Error('no operation');
  return [schema, document, operation] as const;
}

const nested = (levels: number) =>
  `__schema { types { ${'fields { type { '.repeat(levels)} name ${'} } '.repeat(levels)} } }`;

it('lets the query of tools pass, with room to spare', () => {
  const query = getIntrospectionQuery({
    inputValueDeprecation: true,
    specifiedByUrl: true,
    directiveIsRepeatable: true,
    schemaDescription: true,
  });
  expect(() => requireIntrospectionWithinLimit(...partsOf(query))).not.toThrow();
  expect(measureIntrospection(...partsOf(query)).objects).toBeLessThan(40_000);
});

it.each([
  ['aliases of everything', Array.from({ length: 48 }, (_, i) => `a${i}: ${nested(2)}`).join(' ')],
  ['types of the fields of types', nested(6)],
  ['fragments that spread each other', '...a'],
])('refuses %s', (_what, selection) => {
  const fragments = `
    fragment a on Query { ...b ...b } fragment b on Query { ...c ...c }
    fragment c on Query { ...d ...d } fragment d on Query { ${nested(3)} x: ${nested(3)} y: ${nested(3)} }`;
  const query = `{ ${selection} } ${selection === '...a' ? fragments : ''}`;
  expect(() => requireIntrospectionWithinLimit(...partsOf(query))).toThrow(/introspection/);
});

const EACH_TYPE = '__schema { types { name } }';

it.each([
  ['a fragment', '{ ...a } fragment a on Query { ...b } fragment b on Query { SELECTED }'],
  ['a fragment for the root', '{ ... on Query { SELECTED } }'],
  ['a fragment without a type', '{ ... @include(if: true) { SELECTED } }'],
])('counts what is introspected through %s like what is selected itself', (_what, query) => {
  const measured = measureIntrospection(...partsOf(`{ ${EACH_TYPE} }`));
  expect(measured).toEqual({ objects: 1 + Object.keys(schema.getTypeMap()).length, depth: 2 });
  expect(measureIntrospection(...partsOf(query.replace('SELECTED', EACH_TYPE)))).toEqual(measured);
});

it('counts its depth by its deepest part, also through fragments, and refuses a list that is too deep', () => {
  const type = (depth: number) =>
    `__type(name: "Query") { ${'ofType { ...x '.repeat(depth - 1)} name ${'} '.repeat(depth - 1)} }`;
  const query = (depth: number) => `{ __typename ${type(depth)} ${type(1)} } fragment x on __Type { name }`;
  const alone = query(16).replaceAll('...x', '');
  expect(measureIntrospection(...partsOf(alone))).toEqual({ objects: 17, depth: 16 });
  expect(measureIntrospection(...partsOf(query(16)))).toEqual({ objects: 17, depth: 16 });
  expect(() => requireIntrospectionWithinLimit(...partsOf(query(16)))).not.toThrow();
  expect(() => requireIntrospectionWithinLimit(...partsOf(query(17)))).toThrow(
    'its depth of an introspection is 17, and at most 16 is accepted',
  );
});

it.each([
  ['the root', 'Query', '{ ...f0 }', EACH_TYPE],
  ['a type', '__Type', '{ __type(name: "Query") { ...f0 } }', 'fields { name }'],
])('walks a fragment of %s once, however often it is spread', (_what, type, query, selection) => {
  const parts = partsOf(spreadOften(query, type, selection));
  allowOneWalk(parts[1]);
  expect(measureIntrospection(...parts).objects).toBeGreaterThan(2 ** 20);
});

it.each([
  '{ __typename ledgerNetwork { name } }',
  '{ ...a } fragment a on Query { __typename ledgerNetwork { name } }',
])('counts nothing where nothing is introspected: %s', (query) => {
  expect(measureIntrospection(...partsOf(query))).toEqual({ objects: 0, depth: 0 });
});
