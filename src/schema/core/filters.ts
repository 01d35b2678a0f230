/**
 * The form of every list's filter: plural members take lists, times (time.ts) are from … until, amounts min …
 * max.
 */
import * as z from 'zod';
import { assetId, auditTarget, keyword, label, subject, type TextRule } from './text.ts';

const MAX_VALUES = 100;
const TOO_MANY = { error: `must be at most ${MAX_VALUES} values` };

/** Follows the selected noun in the description of each filter input. */
export const FILTER_RULE =
  'must match every given member. A list member matches any of its values; an empty list matches nothing.';

/** A list of values of a filter. */
export function filterList<Value>(): z.ZodType<Value[], Value[]> {
  return z.array(z.custom<Value>()).max(MAX_VALUES, TOO_MANY);
}

function textList(rule: TextRule): z.ZodType<string[], string[]> {
  return z.array(rule).max(MAX_VALUES, TOO_MANY);
}

/** Subjects of tokens: of buyers, farmers, lenders, callers; and ids of warehouses. */
export const subjectList = textList(subject);
/** Kinds and types, whose spelling must match exactly. */
export const labelList = textList(label);
/** A verification body's reference and a year. */
export const assetIdList = textList(assetId);
/** Codes, names of fields and ids. */
export const keywordList = textList(keyword);
export const auditTargetList = textList(auditTarget);

/** The description of a list of values. */
export function oneOf(what: string): string {
  return `Only ${what}. At most ${MAX_VALUES} values.`;
}

/** A filter's member for items that belong to projects. */
export const PROJECT_TOKENS = {
  validate: { schema: filterList<string>() },
  description: oneOf('items of projects with one of these token addresses'),
} as const;
