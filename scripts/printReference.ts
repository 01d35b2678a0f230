/**
 * `npm run docs:reference` writes the reference of the contract to docs/reference.md; with `--check` it fails
 * when the committed page differs from the code.
 */
import {
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isRequiredArgument,
  isScalarType,
  isSpecifiedScalarType,
  isUnionType,
  lexicographicSortSchema,
} from 'graphql';
import type {
  GraphQLArgument,
  GraphQLInputField,
  GraphQLNamedType,
  GraphQLScalarType,
  GraphQLType,
} from 'graphql';
import { schema as contract } from '../src/schema/index.ts';
import { runPrinting } from './printedFile.ts';

const schema = lexicographicSortSchema(contract);

const HEAD = `# Reference

Every operation and type of the contract, with its description: what [schema.graphql](../schema.graphql) says, for reading.
[clients.md](clients.md) has the conventions that hold everywhere, [errors.md](errors.md) the codes. This page is printed by
\`npm run docs:reference\`.
`;

interface Member {
  name: string;
  description?: string | null;
  deprecationReason?: string | null;
}

function referencePage(): string {
  const types = Object.values(schema.getTypeMap())
    .filter((type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type))
    .filter((type) => !roots.has(type.name));
  const kinds: [string, (type: GraphQLNamedType) => boolean][] = [
    ['Objects', isObjectType],
    ['Interfaces', isInterfaceType],
    ['Unions', isUnionType],
    ['Inputs', isInputObjectType],
    ['Enums', isEnumType],
    ['Scalars', isScalarType],
  ];
  return [
    HEAD,
    ...[...roots.values()].map(operations),
    ...kinds.flatMap(([title, isOfKind]) => {
      const ofKind = types.filter(isOfKind);
      return ofKind.length === 0 ? [] : [`## ${title}\n`, ...ofKind.map(describeType)];
    }),
  ].join('\n');
}

const roots = new Map(
  [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].flatMap((type) =>
    type ? [[type.name, type] as const] : [],
  ),
);
const TITLES: Readonly<Record<string, string>> = {
  Query: 'Queries',
  Mutation: 'Mutations',
  Subscription: 'Subscriptions',
};

function operations(root: GraphQLNamedType): string {
  const fields = isObjectType(root) ? Object.values(root.getFields()) : [];
  return [
    `## ${TITLES[root.name] ?? root.name}\n`,
    ...fields.map((field) =>
      section(field.name, [
        text(field),
        `Answers ${link(field.type)}.`,
        ...(field.args.length === 0 ? [] : [list(field.args.map(inputEntry))]),
      ]),
    ),
  ].join('\n');
}

function describeType(type: GraphQLNamedType): string {
  return section(type.name, [text(type), ...partsOf(type)]);
}

function whereSpecified({ name, specifiedByURL }: GraphQLScalarType): string {
  if (specifiedByURL) return `Specified by <${specifiedByURL}>.`;
  return `Specified in [clients.md](clients.md#${name.toLowerCase()}).`;
}

function partsOf(type: GraphQLNamedType): string[] {
  if (isEnumType(type)) return [list(type.getValues().map((value) => `\`${value.name}\`: ${inline(value)}`))];
  if (isUnionType(type)) return [`One of ${type.getTypes().map(link).join(', ')}.`];
  if (isInputObjectType(type)) return [list(Object.values(type.getFields()).map(inputEntry))];
  if (isScalarType(type)) return [whereSpecified(type)];
  const interfaces = type.getInterfaces().map(link);
  return [
    ...(interfaces.length === 0 ? [] : [`Implements ${interfaces.join(', ')}.`]),
    list(
      Object.values(type.getFields()).map((field) => {
        const names = field.args.map(({ name }) => name).join(', ');
        return `\`${field.name}\`${names === '' ? '' : ` (${names})`} ${link(field.type)}: ${inline(field)}`;
      }),
    ),
  ];
}

function inputEntry(input: GraphQLArgument | GraphQLInputField): string {
  const isRequired = isRequiredArgument(input);
  return `\`${input.name}\` ${link(input.type)}${isRequired ? '' : ', optional'}: ${inline(input)}`;
}

function section(title: string, paragraphs: readonly string[]): string {
  return `### ${title}\n\n${paragraphs.filter((paragraph) => paragraph !== '').join('\n\n')}\n`;
}

function list(entries: readonly string[]): string {
  return entries.map((entry) => `- ${entry}`).join('\n');
}

/** The type as the contract writes it, with a link. */
function link(type: GraphQLType): string {
  const { name } = getNamedType(type);
  const written = `\`${String(type)}\``;
  const isOwn = !isSpecifiedScalarType(getNamedType(type));
  return isOwn ? `[${written}](#${name.toLowerCase()})` : written;
}

function text({ description, deprecationReason }: Member): string {
  const deprecated = deprecationReason == null ? '' : `**Deprecated.** ${deprecationReason}\n\n`;
  return `${deprecated}${description?.trim() ?? ''}`;
}

function inline(member: Member): string {
  return text(member).replaceAll(/\s*\n\s*/g, ' ');
}

await runPrinting('printReference', 'Prints the reference of the contract to docs/reference.md.', () => [
  { path: 'docs/reference.md', contents: referencePage(), script: 'docs:reference' },
]);
