/**
 * The form of every list's filter: plural members take lists, times are from … until, amounts min … max.
 */
import type { InputFieldBuilder, InputFieldMap, InputType } from '@pothos/core';
import * as z from 'zod';
import { builder, type ContractTypes } from './builder.ts';
import { fromTime, untilTime } from './time.ts';

const MAX_VALUES = 100;

/** Follows the selected noun in the description of each filter input. */
export const FILTER_RULE =
  'must match every given member. A list member matches any of its values; an empty list matches nothing.';

/** The input of a list's filter: `filterInput('ApiKeyFilter', 'An API key', (t) => ({ … }))`. */
export function filterInput<Fields extends InputFieldMap>(
  name: string,
  noun: string,
  fields: (t: InputFieldBuilder<ContractTypes, 'InputObject'>) => Fields,
) {
  return builder.inputType(name, { description: `${noun} ${FILTER_RULE}`, fields });
}

/** The argument of a list: `args: filterOf(ApiKeyFilterInput, 'Filters the API keys. …')`. */
export function filterOf<Type extends InputType<ContractTypes>>(type: Type, description: string) {
  return builder.args((t) => ({ filter: t.field({ type, description }) }));
}

/** The members for the time of a list's order: `...within(t, 'entries booked')`. */
export function within(t: InputFieldBuilder<ContractTypes, 'InputObject'>, what: string) {
  return { from: t.field(fromTime(what)), until: t.field(untilTime(what)) };
}

/**
 * A list member: `farmerIds: t.stringList(anyOf('receipts of farmers with one of these subjects', subject))`.
 * @param rule of each value, beyond that of its type
 * @param more the rest of the description
 */
export function anyOf<Value = string>(
  what: string,
  rule: z.ZodType<Value, Value> = z.custom<Value>(),
  more?: string,
) {
  return {
    validate: { schema: z.array(rule).max(MAX_VALUES, { error: `must be at most ${MAX_VALUES} values` }) },
    description: `Only ${what}. At most ${MAX_VALUES} values.${more === undefined ? '' : ` ${more}`}`,
  };
}

/** A filter's member for items that belong to projects. */
export const PROJECT_TOKENS = anyOf('items of projects with one of these token addresses');
