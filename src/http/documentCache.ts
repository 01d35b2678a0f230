/**
 * Parsed documents, kept by their source as long as they are few and small: clients send the same ones again.
 * A stranger's documents can push others out, but can't fill the memory.
 */

/** Of source text, which a parsed document takes up to 150 times as much memory as. */
const MAX_KEPT_CHARACTERS = 256 * 1024;
/** Larger documents are not a program's everyday ones. */
const MAX_DOCUMENT_CHARACTERS = 16 * 1024;

export interface DocumentCache<T> {
  get(source: string): T | undefined;
  set(source: string, value: T): void;
}

/** Forgets what was not asked for longest. */
export function createDocumentCache<T>(): DocumentCache<T> {
  const kept = new Map<string, T>();
  let characters = 0;
  const forget = (source: string) => {
    if (kept.delete(source)) characters -= source.length;
  };
  return {
    get(source) {
      const value = kept.get(source);
      if (value === undefined) return undefined;
      kept.delete(source);
      kept.set(source, value);
      return value;
    },
    set(source, value) {
      if (source.length > MAX_DOCUMENT_CHARACTERS) return;
      forget(source);
      kept.set(source, value);
      characters += source.length;
      for (const oldest of kept.keys()) {
        if (characters <= MAX_KEPT_CHARACTERS) break;
        forget(oldest);
      }
    },
  };
}
