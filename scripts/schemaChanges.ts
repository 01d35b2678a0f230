/**
 * The changes that break the released contract without a warning. Members that were deprecated in the
 * released contract may be removed from the day that the reason names; all others may not.
 */
import {
  BreakingChangeType,
  findBreakingChanges,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
} from 'graphql';
import type { BreakingChange, GraphQLSchema } from 'graphql';

/** Removals that a deprecation announces. A changed type breaks clients in any case. */
const ANNOUNCED_BY_DEPRECATION = new Set<BreakingChangeType>([
  BreakingChangeType.FIELD_REMOVED,
  BreakingChangeType.VALUE_REMOVED_FROM_ENUM,
  BreakingChangeType.ARG_REMOVED,
]);

/**
 * A sentence for each change that breaks clients, unless the released contract has a deprecation that is due
 * today.
 */
export function findRefusedChanges(released: GraphQLSchema, current: GraphQLSchema, today: Date): string[] {
  const mayGo = goingBy(today);
  const refused = findBreakingChanges(released, current)
    .filter((change) => !isAnnounced(released, current, change, mayGo))
    .map(({ type, description }) => `${type}: ${description}`);
  return [...refused, ...findChangedDefaults(released, current)];
}

/**
 * graphql-js does not report changed defaults as breaking, and ignores those of input fields. A client that
 * leaves the member out would ask for something else, or be refused if the member may not be null.
 */
function findChangedDefaults(released: GraphQLSchema, current: GraphQLSchema): string[] {
  const now = inputsOf(current);
  return [...inputsOf(released)].flatMap(([coordinate, before]) => {
    const after = now.get(coordinate);
    // A removed member is reported as a removal.
    if (before === null || after === undefined || after === before) return [];
    const text = after === null ? 'has no default' : `is ${after}`;
    return [`DEFAULT_CHANGED: ${coordinate} was ${before} where it was left out, and now ${text}.`];
  });
}

/**
 * The default of each argument and input field as JSON, by its coordinate; null for a member without a
 * default.
 */
function inputsOf(schema: GraphQLSchema): Map<string, string | null> {
  const inputs = Object.values(schema.getTypeMap())
    .filter((type) => !isIntrospectionType(type))
    .flatMap((type) =>
      Object.entries(fieldsOf(schema, type.name)).flatMap(([name, field]): [string, Member][] => {
        const coordinate = `${type.name}.${name}`;
        if (isInputObjectType(type)) return [[coordinate, field]];
        return (field.args ?? []).map((arg) => [`${coordinate}(${arg.name})`, arg]);
      }),
    );
  return new Map(
    inputs.map(([coordinate, { defaultValue }]) => [
      coordinate,
      defaultValue === undefined ? null : JSON.stringify(defaultValue),
    ]),
  );
}

type MayGo = (member: { deprecationReason?: string | null | undefined } | null | undefined) => boolean;

/**
 * A reason names the first day on which its member may be missing. Without the day clients don't know how
 * long they have.
 */
function goingBy(today: Date): MayGo {
  const day = today.toISOString().slice(0, 10);
  return (member) => {
    const named = /\b\d{4}-\d{2}-\d{2}\b/.exec(member?.deprecationReason ?? '')?.[0];
    return named !== undefined && named <= day;
  };
}

/** Reads graphql-js' descriptions, because only they name the coordinate. */
function isAnnounced(
  released: GraphQLSchema,
  current: GraphQLSchema,
  { type, description }: BreakingChange,
  mayGo: MayGo,
): boolean {
  if (type === BreakingChangeType.TYPE_REMOVED) {
    // `Int`, for example, because nothing uses it any more; the removed uses are reported.
    if (description.startsWith('Standard scalar')) return true;
    const name = /^(\w+) was removed/.exec(description)?.[1];
    return name !== undefined && isOnlyReachedByGoing(released, name, mayGo);
  }
  if (!ANNOUNCED_BY_DEPRECATION.has(type)) return false;
  const value = /^(\w+) was removed from enum type (\w+)/.exec(description);
  if (value !== null) {
    const holder = released.getType(value[2] ?? '');
    return isEnumType(holder) && mayGo(holder.getValue(value[1] ?? ''));
  }
  const argument = /^(\w+)\.(\w+) arg (\w+) was removed/.exec(description);
  const [, typeName = '', fieldName = ''] = argument ?? /^(\w+)\.(\w+) was removed/.exec(description) ?? [];
  const field = fieldsOf(released, typeName)[fieldName];
  if (field === undefined) return false;
  if (argument === null) return mayGo(field);
  // The removal of a field is reported, so its arguments are not.
  const before = field.args?.find(({ name }) => name === argument[3]);
  return mayGo(before) || !(fieldName in fieldsOf(current, typeName));
}

/** A type is removed together with the members that lead to it, if all of them may go. */
function isOnlyReachedByGoing(schema: GraphQLSchema, name: string, mayGo: MayGo): boolean {
  const mentions = Object.values(schema.getTypeMap()).flatMap((type) =>
    Object.values(fieldsOf(schema, type.name)).flatMap((field) => [
      ...(String(field.type).replaceAll(/[[\]!]/g, '') === name ? [field] : []),
      ...(field.args ?? [])
        .filter((arg) => String(arg.type).replaceAll(/[[\]!]/g, '') === name)
        .map((arg) => ({ deprecationReason: arg.deprecationReason ?? field.deprecationReason })),
    ]),
  );
  return mentions.length > 0 && mentions.every(mayGo);
}

interface Member {
  type: unknown;
  defaultValue?: unknown;
  deprecationReason?: string | null;
  args?: readonly (Omit<Member, 'args'> & { name: string })[];
}

function fieldsOf(schema: GraphQLSchema, typeName: string): Readonly<Record<string, Member>> {
  const type = schema.getType(typeName);
  return isObjectType(type) || isInterfaceType(type) || isInputObjectType(type) ? type.getFields() : {};
}
