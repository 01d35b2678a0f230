/**
 * Parses JSON that visitors paste, which may be any text.
 */
import { parseJson } from '../lib/parseJson.ts';

/** Null for a text that is not JSON, and for JSON that is no object. */
export function parsedObject(text: string): Record<string, unknown> | null {
  const value = parseJson(text);
  return isObject(value) ? value : null;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
