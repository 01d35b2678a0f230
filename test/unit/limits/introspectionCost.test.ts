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

it('counts nothing where nothing is introspected', () => {
  expect(measureIntrospection(...partsOf('{ __typename ledgerNetwork { name } }'))).toEqual({
    objects: 0,
    depth: 0,
  });
});
