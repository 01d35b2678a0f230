/**
 * The API examples in README and docs work as printed: whole operations, single fields, values of enums.
 */
import { readdir, readFile } from 'node:fs/promises';
import {
  getNamedType,
  isCompositeType,
  isEnumType,
  parse,
  validate,
  visit,
  visitWithTypeInfo,
  TypeInfo,
} from 'graphql';
import { beforeAll, describe, expect, it } from 'vitest';
import { nameOf } from '../../../src/http/pages/graphiql.ts';
import { GRAPHIQL_EXAMPLES } from '../../../src/schema/examples.ts';
import { schema } from '../../../src/schema/index.ts';

interface Example {
  where: string;
  text: string;
}

const ROOT = new URL('../../../', import.meta.url);
const PLACEHOLDER = '"…"';

const files = async () => [
  'README.md',
  ...(await readdir(new URL('docs', ROOT)))
    // The reference is printed from the contract, so it is left out.
    .filter((name) => name.endsWith('.md') && name !== 'reference.md')
    .map((name) => `docs/${name}`),
];

let blocks: Example[];
let inline: Example[];
beforeAll(async () => {
  const texts = await Promise.all(
    (await files()).map(async (where) => ({ where, text: await readFile(new URL(where, ROOT), 'utf8') })),
  );
  const matchesIn = (pattern: RegExp) =>
    texts.flatMap(({ where, text }) =>
      [...text.matchAll(pattern)].map(([, code = '']): Example => ({ where, text: code })),
    );
  blocks = matchesIn(/^ *```graphql[^\n]*\n([^]*?)^ *```/gm);
  inline = matchesIn(/(?<!`)`([^`\n]+)`(?!`)/g);
});

const rootFields = new Map(
  [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].flatMap((root, at) =>
    Object.values(root?.getFields() ?? {}).map((field) => [
      field.name,
      { field, operation: ['query', 'mutation', 'subscription'][at] },
    ]),
  ),
);

/** Violations of the schema's rules, and lists without the page size that they need to run. */
function problemsOf(document: string): string[] {
  const parsed = parse(document);
  const errors = validate(schema, parsed).map(({ message }) => message);
  const info = new TypeInfo(schema);
  visit(
    parsed,
    visitWithTypeInfo(info, {
      Field(node) {
        const type = info.getType();
        if (!type || !getNamedType(type).name.endsWith('Connection')) return;
        const sizes = node.arguments?.filter(({ name }) => ['first', 'last'].includes(name.value)) ?? [];
        if (sizes.length !== 1) errors.push(`${node.name.value} needs first or last`);
      },
    }),
  );
  return errors;
}

describe('README and docs', () => {
  it('show operations that the schema accepts', () => {
    expect(blocks.length).toBeGreaterThan(0);
    const wrong = blocks.map(({ where, text }) => ({ where, text, problems: problemsOf(text) }));
    expect(wrong.filter(({ problems }) => problems.length > 0)).toEqual([]);
  });

  it('name fields with arguments that they have, and lists with a page', () => {
    const calls = inline.flatMap(({ where, text }) => {
      const [, name = '', args = ''] = /^(\w+)\((.*)\)$/.exec(text) ?? [];
      const known = rootFields.get(name);
      return known ? [{ where, text, args, ...known }] : [];
    });
    expect(calls.length).toBeGreaterThan(5);
    const wrong = calls.map(({ where, text, args, field, operation }) => {
      // "registry(tokenAddress)" names arguments; "node(id: …)" gives them values.
      if (!args.includes(':')) {
        const names = args.split(',').map((word) => word.trim());
        const unknown = names.filter((word) => !field.args.some((arg) => arg.name === word));
        return { where, text, problems: unknown.map((word) => `${field.name} has no argument ${word}`) };
      }
      const selection = isCompositeType(getNamedType(field.type)) ? ' { __typename }' : '';
      const document = `${operation} { ${text.replaceAll(/(?<!")…(?!")/g, PLACEHOLDER)}${selection} }`;
      return { where, text, problems: problemsOf(document) };
    });
    expect(wrong.filter(({ problems }) => problems.length > 0)).toEqual([]);
  });

  it('spell the values of enums as the API does', () => {
    const spellings = new Map(
      Object.values(schema.getTypeMap())
        .filter((type) => isEnumType(type))
        .flatMap((type) => type.getValues().map(({ name }) => name))
        // Single words are also ordinary words ("settled", at the provider).
        .filter((name) => name.includes('_'))
        .flatMap((name) =>
          [name.toLowerCase(), name.toLowerCase().replaceAll('_', '-')].map((other) => [other, name]),
        ),
    );
    const wrong = inline.flatMap(({ where, text }) => {
      const name = spellings.get(text);
      return name === undefined ? [] : [`${where}: ${text} is ${name}`];
    });
    expect(wrong).toEqual([]);
  });
});

describe('GraphiQL', () => {
  it.each(GRAPHIQL_EXAMPLES.map(({ document }) => [nameOf(document), document]))(
    'shows what the API takes: %s',
    (_name, document) => {
      expect(problemsOf(document)).toEqual([]);
    },
  );

  it('gives each operation a name of its own, and its variables from operations before it', () => {
    const earlier = new Set<string>();
    for (const { document, variables = {} } of GRAPHIQL_EXAMPLES) {
      const name = nameOf(document);
      expect(name).toMatch(/^\w+$/);
      expect(earlier).not.toContain(name);
      for (const source of Object.values(variables)) expect(earlier).toContain(source.split('.')[0]);
      earlier.add(name);
    }
  });
});
