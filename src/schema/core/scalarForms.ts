/**
 * How scalars are read, printed and refused.
 */
import { type ValueNode, GraphQLError, Kind, print } from 'graphql';
import { escapeUnprintable, showValue, truncate } from './showValue.ts';

/** How a scalar is printed, and read from JSON variables and from literals in a document. */
export interface ScalarDefinition<T> {
  description: string;
  /**
   * A standard, which the SDL shows as `@specifiedBy`; left out when only the description specifies the
   * scalar.
   */
  specifiedByURL?: string;
  serialize: (value: unknown) => string | number;
  parseValue: (value: unknown) => T;
  parseLiteral: (node: ValueNode) => T;
}

/** A scalar that is a string of one form, both as a variable and as a literal. */
export function stringScalar<T>({
  name,
  expected,
  read: readText,
  ...definition
}: {
  name: string;
  description: string;
  specifiedByURL?: string;
  expected: string;
  /** The value, or undefined when the text has another form. */
  read: (text: string) => T | undefined;
  serialize: (value: unknown) => string;
}): ScalarDefinition<T> {
  const read = (text: unknown, shown: string, node?: ValueNode): T => {
    const value = typeof text === 'string' ? readText(text) : undefined;
    if (value === undefined) throw refused(name, shown, expected, node);
    return value;
  };
  return {
    ...definition,
    parseValue: (value) => read(value, showValue(value)),
    parseLiteral: (node) => read(node.kind === Kind.STRING ? node.value : undefined, showLiteral(node), node),
  };
}

export function printText(name: string, value: unknown, form: RegExp): string {
  if (typeof value === 'string' && form.test(value)) return value;
  throw new Error(`${name} can't print ${showValue(value)}.`);
}

export function serializeInteger(name: string, value: unknown, minimum: bigint, maximum: bigint): string {
  if (typeof value === 'bigint' && value >= minimum && value <= maximum) return value.toString();
  throw new Error(`${name} can't print ${showValue(value)}.`);
}

/** A literal as the document has it. */
export function showLiteral(node: ValueNode): string {
  return node.kind === Kind.STRING ? showValue(node.value) : escapeUnprintable(truncate(print(node)));
}

/** @param node the literal that the error points at; graphql-js names the place of a variable itself */
export function refused(name: string, shown: string, expected: string, node?: ValueNode): GraphQLError {
  return new GraphQLError(`${name} must be ${expected}, but is ${shown}.`, {
    nodes: node,
    extensions: { code: 'BAD_USER_INPUT' },
  });
}
