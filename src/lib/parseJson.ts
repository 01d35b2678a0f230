/** The value of a JSON text; undefined for any other text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The object of a JSON text; null for a text that is not JSON, and for JSON that is no object. */
export function parseJsonObject(text: string): Record<string, unknown> | null {
  const value = parseJson(text);
  return isObject(value) ? value : null;
}

/** True of an object that is no array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
