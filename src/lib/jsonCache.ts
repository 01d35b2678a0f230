/**
 * Caches the JSON of lists that never change and are the same for every caller, for as long as the list
 * exists.
 */
import type { ReadyJson } from './readyJson.ts';

/** The last JSON of each list. Other documents ask for other fields, and each text is as long as the list. */
const written = new WeakMap<readonly unknown[], { by: object; json: ReadyJson } | null>();

/** Declares that the list never changes, and that no field of its items depends on the caller. */
export function cacheJsonOf(list: readonly unknown[]): void {
  written.set(list, null);
}

/** @param by stands for all that the JSON depends on besides the list: the same object, the same JSON */
export function cachedJsonOf(list: readonly unknown[], by: object, write: () => ReadyJson): ReadyJson {
  const cached = written.get(list);
  if (cached?.by === by) return cached.json;
  const json = write();
  if (cached !== undefined) {
    // A concatenated text stays a tree of its pieces, five times as large and slow to copy, until a character
    // of it is read.
    json.text.charCodeAt(0);
    written.set(list, { by, json });
  }
  return json;
}
