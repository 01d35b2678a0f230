/**
 * Random operations of the schema: mostly well-formed, with values that are plausible, odd or nonsense, and
 * sometimes with a piece missing.
 */
import fc from 'fast-check';
import type { GeneratorValue } from 'fast-check';
import type {
  GraphQLArgument,
  GraphQLField,
  GraphQLInputType,
  GraphQLNamedType,
  GraphQLSchema,
} from 'graphql';
import {
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isObjectType,
  isRequiredArgument,
  isRequiredInputField,
} from 'graphql';

interface RandomOperation {
  query: string;
  variables: Record<string, unknown>;
}

/** Deep enough for the items of a page and their objects. */
const MAX_DEPTH = 5;

/** @param known texts that the server knows: ids, addresses, names */
export function randomOperation(
  g: GeneratorValue,
  schema: GraphQLSchema,
  known: readonly string[],
): RandomOperation {
  const roll = dice(g);
  const declared: string[] = [];
  const variables: Record<string, unknown> = {};
  const values = valueMaker(roll, known);

  const argument = (arg: GraphQLArgument): string => {
    const value = values.of(arg.type);
    if (roll.oneIn(3)) return `${arg.name}: ${literal(value, arg.type)}`;
    const name = `v${declared.length}`;
    declared.push(`$${name}: ${String(arg.type)}`);
    variables[name] = value;
    return `${arg.name}: $${name}`;
  };
  const selection = (field: GraphQLField<unknown, unknown>, depth: number): string => {
    const asked = field.args.filter((arg) => (isRequiredArgument(arg) ? !roll.oneIn(80) : roll.oneIn(3)));
    // Without a size, a connection returns an error only.
    const sized = field.args.filter(({ name }) => name === 'first' && !roll.oneIn(20));
    const args = [...new Set([...asked, ...sized])].map(argument);
    const alias = roll.oneIn(8) ? `a${roll.upTo(99)}: ` : '';
    const directive = roll.oneIn(15) ? ` @${roll.pick(['include', 'skip'])}(if: ${roll.oneIn(2)})` : '';
    const shownArgs = args.length === 0 ? '' : `(${args.join(', ')})`;
    return `${alias}${field.name}${shownArgs}${directive}${fieldsOf(getNamedType(field.type), depth)}`;
  };
  const fieldsOf = (type: GraphQLNamedType, depth: number): string => {
    if (isLeafType(type)) return roll.oneIn(300) ? ' { id }' : '';
    if (!isObjectType(type)) return ' { __typename }';
    const fields = Object.values(type.getFields()).filter(
      (field) => depth < MAX_DEPTH || isLeafType(getNamedType(field.type)),
    );
    if (fields.length === 0) return ' { __typename }';
    const chosen = new Set(Array.from({ length: 1 + roll.upTo(3) }, () => roll.pick(fields)));
    return ` { ${[...chosen].map((field) => selection(field, depth + 1)).join(' ')} }`;
  };

  const [kind, root] = roll.pick([
    ['query', schema.getQueryType()],
    ['query', schema.getQueryType()],
    ['mutation', schema.getMutationType()],
    ['subscription', schema.getSubscriptionType()],
  ] as const);
  const roots = Object.values(root?.getFields() ?? {});
  const count = kind === 'subscription' ? 1 : 1 + roll.upTo(1);
  const body = Array.from({ length: count }, () => selection(roll.pick(roots), 0)).join(' ');
  const header = declared.length === 0 ? '' : `(${declared.join(', ')})`;
  return { query: damage(roll, `${kind} Random${header} { ${body} }`), variables };
}

type Dice = ReturnType<typeof dice>;

function dice(g: GeneratorValue) {
  const upTo = (max: number): number => g(fc.nat, max);
  return {
    upTo,
    oneIn: (n: number): boolean => upTo(n - 1) === 0,
    pick: <T>(items: readonly T[]): T => items[upTo(items.length - 1)] as T,
    json: (): unknown => g(fc.jsonValue, { maxDepth: 2 }),
    text: (): string => g(fc.string, { unit: 'grapheme', maxLength: 40 }),
    bigInt: (): string => String(g(fc.bigInt, { min: -(2n ** 70n), max: 2n ** 140n })),
  };
}

const NUMERIC_SCALARS = [
  'Tonnes',
  'Kilograms',
  'UsDollars',
  'BaseUnits',
  'UnixTime',
  'LeafNumber',
  'LedgerNumber',
];
const ODD_NUMBERS = [0, -1, 1, 1.5, 2 ** 31, -(2 ** 31) - 1, 2 ** 53, 1e300, 4_102_444_800];
const ODD_TEXTS = [
  '',
  ' ',
  '0',
  '1e3',
  '-5',
  '\u0000',
  '\u202Eabc',
  '\ud800',
  "'; DROP TABLE api_keys; --",
  '{{7*7}}',
  '../../etc/passwd',
  '__proto__',
  'constructor',
  'x'.repeat(2_000),
];

function valueMaker(roll: Dice, known: readonly string[]) {
  const of = (type: GraphQLInputType): unknown => {
    if (roll.oneIn(40)) return roll.json();
    const bare: GraphQLInputType = getNullableType(type);
    if (bare === type && roll.oneIn(20)) return null;
    if (isListType(bare)) return Array.from({ length: roll.upTo(3) }, () => of(bare.ofType));
    if (isInputObjectType(bare)) {
      const fields = Object.values(bare.getFields()).filter((field) =>
        isRequiredInputField(field) ? !roll.oneIn(80) : roll.oneIn(2),
      );
      return Object.fromEntries(fields.map((field) => [field.name, of(field.type)]));
    }
    if (isEnumType(bare)) return roll.pick(bare.getValues()).name;
    return scalar(String(bare));
  };
  const scalar = (name: string): unknown => {
    if (name === 'Boolean') return roll.oneIn(2);
    if (name === 'Int') return roll.oneIn(4) ? roll.pick(ODD_NUMBERS) : 1 + roll.upTo(20);
    if (NUMERIC_SCALARS.includes(name)) {
      if (roll.oneIn(4)) return roll.pick(ODD_NUMBERS);
      return roll.oneIn(3) ? roll.bigInt() : 1 + roll.upTo(50);
    }
    if (roll.oneIn(6)) return roll.pick(ODD_TEXTS);
    return roll.oneIn(8) ? roll.text() : roll.pick(known);
  };
  return { of };
}

/** Returns the value as text in a document. */
function literal(value: unknown, type: GraphQLInputType): string {
  const named = getNamedType(type);
  if (Array.isArray(value)) return `[${value.map((item) => literal(item, type)).join(', ')}]`;
  if (typeof value === 'string' && isEnumType(named) && /^\w+$/.test(value)) return value;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = isInputObjectType(named) ? named.getFields() : {};
  const entries = Object.entries(value).map(
    ([name, inner]) => `${name.replaceAll(/\W/g, '_') || '_'}: ${literal(inner, fields[name]?.type ?? type)}`,
  );
  return `{ ${entries.join(', ')} }`;
}

/** Sometimes cuts, doubles or replaces a piece of the text. */
function damage(roll: Dice, text: string): string {
  if (!roll.oneIn(20)) return text;
  const at = roll.upTo(text.length - 1);
  const length = 1 + roll.upTo(8);
  const replacement = roll.pick([
    '',
    text.slice(at, at + length).repeat(2),
    '{',
    '"',
    '...',
    '@',
    '\u0000',
    '#',
  ]);
  return text.slice(0, at) + replacement + text.slice(at + length);
}
