/**
 * A bounded cache of parsed documents by their source, because clients repeat the same documents. An unknown
 * client's documents can evict others, but can't fill the memory.
 */
import { LRUCache } from 'lru-cache';

/** Maximum characters of all source texts. A parsed document takes up to 150 times as much memory. */
const MAX_KEPT_CHARACTERS = 256 * 1024;
/** Larger documents are rare, and not worth the memory. */
const MAX_DOCUMENT_CHARACTERS = 16 * 1024;
/**
 * An error takes as much memory as so many characters, and a document may have one for every second
 * character.
 */
const ERROR_CHARACTERS = 12;

/**
 * Evicts the least recently used.
 * @param errorsOf the number of errors that are kept with a document
 */
export function createDocumentCache<T>(
  errorsOf: (kept: NonNullable<T>) => number = () => 0,
): LRUCache<string, NonNullable<T>> {
  return new LRUCache({
    maxSize: MAX_KEPT_CHARACTERS,
    maxEntrySize: MAX_DOCUMENT_CHARACTERS,
    // LRUCache refuses a size of 0.
    sizeCalculation: (kept, source) => Math.max(source.length + ERROR_CHARACTERS * errorsOf(kept), 1),
  });
}
