/**
 * The executor in plainLists.ts answers exactly as graphql-js: generated documents over a schema with every
 * kind of field run through both, and the tests compare texts, measures and errors.
 */
import fc from 'fast-check';
import { buildSchema, execute, parse, validate, type ExecutionResult, type GraphQLSchema } from 'graphql';
import { describe, expect, it } from 'vitest';
import { createPlainLists } from '../../../src/http/graphql/plainLists.ts';
import { ReadyJson, stringify } from '../../../src/lib/readyJson.ts';
import { measureAnswer } from '../../../src/limits/measureAnswer.ts';
import { anyText } from '../../support/anyText.ts';

const SDL = /* GraphQL */ `
  enum Colour {
    RED
    GREEN
  }
  interface Named {
    name: String!
  }
  type Item implements Named {
    id: ID!
    name: String!
    note: String
    count: Int!
    share: Float
    isNew: Boolean!
    colour: Colour
    tags: [String!]!
    late: String
    sized(by: Int = 1): Int
    broken: String
    must: String!
    next: Item
    more: [Item!]!
  }
  type Shelf {
    title: String!
    items(first: Int): [Item!]!
    perhaps: [Item!]
    holes: [Item]!
    named: [Named!]!
    shelves: [Shelf!]!
  }
  type Query {
    hello: String
    shelf(title: String!): Shelf
    shelves: [Shelf!]!
    items: [Item!]!
  }
`;

interface World {
  items: readonly Record<string, unknown>[];
  /** The way in which the resolver returns lists. */
  list: 'at once' | 'later' | 'null' | 'an error' | 'a promise inside' | 'a set';
}

function worldSchema(): GraphQLSchema {
  const schema = buildSchema(SDL);
  const fieldsOf = (name: string) => {
    const type = schema.getType(name);
    if (type === undefined || !('getFields' in type)) throw new Error(`there is no ${name}`);
    return type.getFields() as Record<string, { resolve?: unknown }>;
  };
  const give = (_parent: unknown, args: { first?: number }, { list, items }: World): unknown => {
    const given = items.slice(0, args.first ?? undefined);
    if (list === 'null') return null;
    if (list === 'an error') throw new Error('the list is broken');
    if (list === 'later') return Promise.resolve(given);
    if (list === 'a promise inside') return given.map((item) => Promise.resolve(item));
    return list === 'a set' ? new Set(given) : given;
  };
  const resolvers: Record<string, Record<string, unknown>> = {
    Query: { shelf: () => ({}), shelves: () => [{}, {}], items: give, hello: () => 'world' },
    Shelf: {
      title: () => 'top "shelf" \u2028 ☃',
      items: give,
      perhaps: give,
      holes: (...all: Parameters<typeof give>) => {
        const given = give(...all);
        return Array.isArray(given) ? [...given, null] : given;
      },
      named: (...all: Parameters<typeof give>) => give(...all),
      shelves: () => [{}],
    },
    Item: {
      late: async () => 'late',
      sized: (_item: unknown, { by }: { by: number }) => by,
      broken: (
        { name }: { name: string },
        _args: unknown,
        _context: unknown,
        info: { fieldName: string },
      ) => {
        if (name.length > 3) throw new Error(`${info.fieldName} ${name}`);
        return name;
      },
      next: (item: unknown) => item,
      more: (item: unknown) => [item],
    },
  };
  for (const [type, fields] of Object.entries(resolvers)) {
    for (const [name, resolve] of Object.entries(fields))
      Object.assign(fieldsOf(type)[name] ?? {}, { resolve });
  }
  Object.assign(schema.getType('Named') ?? {}, { resolveType: () => 'Item' });
  return schema;
}

const text = anyText({ maxLength: 12 });
const item = fc.record({
  id: text,
  name: text,
  note: fc.option(text, { nil: null }),
  count: fc.oneof({ weight: 20, arbitrary: fc.integer() }, { weight: 1, arbitrary: fc.constant(2 ** 40) }),
  share: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true }), { nil: undefined }),
  isNew: fc.boolean(),
  colour: fc.constantFrom('RED', 'GREEN', null),
  tags: fc.array(text, { maxLength: 2 }),
  must: fc.oneof({ weight: 20, arbitrary: text }, { weight: 1, arbitrary: fc.constant(null) }),
});
const world: fc.Arbitrary<World> = fc.record({
  items: fc.array(item, { maxLength: 4 }),
  list: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom('at once' as const, 'later' as const) },
    { weight: 1, arbitrary: fc.constantFrom('null' as const, 'an error' as const) },
    { weight: 1, arbitrary: fc.constantFrom('a promise inside' as const, 'a set' as const) },
  ),
});

/** Fields of plain values. Most lists ask for nothing else. */
const VALUES = [
  'id',
  'name',
  'note',
  'count',
  'share',
  'isNew',
  'colour',
  'must',
  '__typename',
  'alias: name',
];
const OTHERS = [
  'tags',
  'late',
  'broken',
  'sized',
  'sized(by: 2)',
  'next { id name }',
  'more { id note }',
  'again: more { again: id }',
  '... on Item { count }',
  '...All',
  'name @include(if: $yes)',
  'note @skip(if: $yes)',
  'id',
  'id: name',
];
const selection = fc
  .tuple(
    fc.uniqueArray(fc.constantFrom(...VALUES), { minLength: 1, maxLength: 6 }),
    fc.oneof(
      { weight: 4, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(fc.constantFrom(...OTHERS), { maxLength: 2 }) },
    ),
  )
  .map(([values, others]) => `{ ${[...values, ...others].join(' ')} }`);
const list = fc
  .tuple(fc.constantFrom('items', 'items(first: $first)', 'first: items', 'perhaps', 'holes'), selection)
  .map(([field, of]) => `${field} ${of}`);
const shelf = fc
  .tuple(
    fc.array(list, { minLength: 1, maxLength: 2 }),
    fc.constantFrom('', 'title', 'named { name }', '__typename'),
  )
  .chain(([lists, other]) =>
    fc.constantFrom(`${lists.join(' ')} ${other}`, `${other} shelves { ${lists.join(' ')} } title`),
  );
const query = fc
  .tuple(
    fc.oneof(
      shelf.map((of) => `shelf(title: "a") { ${of} }`),
      shelf.map((of) => `shelves { ${of} }`),
      selection.map((of) => `items ${of} hello`),
    ),
    fc.constantFrom('', 'other: items { name }', '__typename'),
  )
  .map(
    ([first, other]) =>
      `query Q($first: Int, $yes: Boolean = true) { ${first} ${other} } fragment All on Item { id name }`,
  );

/** Removes unused definitions, which are invalid, and fragments, which make a document not plain. */
function trimmed(source: string): string {
  const used = source.includes('...All') ? source : source.replace(/ fragment All .*/, '');
  const body = used.slice(used.indexOf('{'));
  const declared = [
    ...(body.includes('$first') ? ['$first: Int'] : []),
    ...(body.includes('$yes') ? ['$yes: Boolean = true'] : []),
  ];
  return `query Q${declared.length > 0 ? `(${declared.join(', ')})` : ''} ${body}`;
}

const schema = worldSchema();

const TWO_FAILURES = 'query Q { shelves { items { must id } first: items { must id tags } } }';
const WITHOUT_MUST = {
  id: '',
  name: '',
  note: null,
  count: 0,
  share: undefined,
  isNew: false,
  colour: 'RED',
  tags: [],
  must: null,
} as const;

/** Number of answers with lists written as text. Without such answers the comparison proves nothing. */
let written = 0;

function holdsReadyJson(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return value instanceof ReadyJson || Object.values(value).some(holdsReadyJson);
}

/** The answer as sent, with the bytes that the limit on answers counts. */
function sent(result: ExecutionResult) {
  if (holdsReadyJson(result.data)) written += 1;
  return { text: stringify(result), slowly: JSON.stringify(result), bytes: measureAnswer(result.data) };
}

describe('plain lists', () => {
  it('are answered as graphql-js answers them', async () => {
    await fc.assert(
      fc.asyncProperty(
        query.map(trimmed),
        world,
        fc.constantFrom(undefined, 0, 2),
        async (source, contextValue, first) => {
          const document = parse(source);
          fc.pre(validate(schema, document).length === 0);
          const args = { schema, document, contextValue, variableValues: { first } };
          const plainly = createPlainLists(schema);
          const expected = sent(await execute(args));
          expect(expected.text).toBe(expected.slowly);
          // The second run may already know that the document is not plain.
          expect(sent(await plainly(args))).toEqual(expected);
          expect(sent(await plainly(args))).toEqual(expected);
        },
      ),
      // Two lists fail: when the other list is asked for as text, the list that is not plain fails first.
      { numRuns: 500, examples: [[TWO_FAILURES, { items: [WITHOUT_MUST], list: 'later' }, undefined]] },
    );
    expect(written).toBeGreaterThan(100);
  });

  const items = [
    { id: '1', name: 'a', must: 'b', count: 1, isNew: true },
    { id: '2', name: 'long "name" \u0000 \ud834\udd1e', must: 'c', count: 2, isNew: false, note: 'd' },
  ];

  it.each([
    ['{ items { id name note must count isNew colour share __typename } }', true],
    ['{ shelf(title: "a") { title items(first: 1) { id } perhaps { label: name } } }', true],
    ['{ items { id sized } }', false],
    ['{ items { id ... on Item { name } } }', false],
    ['{ items { id } items { name } }', false],
    ['{ items { id @include(if: true) } }', false],
    ['{ items { id next { id } } }', false],
    ['{ shelf(title: "a") { holes { id } } }', false],
    ['{ shelf(title: "a") { named { name } } }', false],
    ['{ items { late } }', false],
    ['{ items { broken } }', false],
  ])('%s: %s', async (source, isPlain) => {
    const args = {
      schema,
      document: parse(source),
      contextValue: { items, list: 'at once' } satisfies World,
    };
    const result = await createPlainLists(schema)(args);
    expect(holdsReadyJson(result.data)).toBe(isPlain);
    expect(stringify(result)).toBe(JSON.stringify(await execute(args)));
  });

  it('are executed once by graphql-js when they turn out not to be plain', async () => {
    let asked = 0;
    const counting = {
      list: 'at once',
      get items() {
        asked += 1;
        return items;
      },
    } satisfies World;
    const args = { schema, document: parse('{ items { id late } }'), contextValue: counting };
    const plainly = createPlainLists(schema);
    await plainly(args);
    expect(asked).toBe(2);
    await plainly(args);
    expect(asked).toBe(3);
  });

  it('never have the resolvers of a mutation run twice', async () => {
    let ran = 0;
    const acting = buildSchema('type Item { id: ID! } type Query { a: Int } type Mutation { act: [Item!]! }');
    const rootValue = {
      act: () => {
        ran += 1;
        return [{ id: async () => '1' }];
      },
    };
    const args = { schema: acting, document: parse('mutation { act { id } }'), rootValue };
    expect(await createPlainLists(acting)(args)).toEqual({ data: { act: [{ id: '1' }] } });
    expect(ran).toBe(1);
  });

  it('show no field in the schema that was not there', async () => {
    await createPlainLists(schema)({
      schema,
      document: parse('{ items { id } }'),
      contextValue: { items, list: 'at once' } satisfies World,
    });
    expect(Object.keys(schema.getQueryType()?.getFields() ?? {})).toEqual([
      'hello',
      'shelf',
      'shelves',
      'items',
    ]);
  });
});
