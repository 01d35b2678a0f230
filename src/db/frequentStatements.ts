/**
 * Decides which statements a connection keeps prepared: those whose text comes again and again. A statement
 * that is not kept takes two round trips, because postgres.js first asks for the types of its parameters.
 *
 * Lists of values of every length make ever new texts, and each kept statement takes memory of each
 * connection. So only frequent texts are kept, up to a maximum. A plan that was made for a young table lasts
 * as long as its connection, half an hour (pool.ts), or until the table is analysed.
 */

/** A text that was seen this often will be seen again. */
const FREQUENT_FROM = 3;
/** Maximum kept statements; each takes some tens of kilobytes on each connection. */
const MAX_FREQUENT = 150;
/** Maximum texts counted at a time; at this number the counting begins anew. */
const MAX_COUNTED = 1_000;
/** A longer text is a list of values. */
const MAX_CHARACTERS = 4_000;

/** @returns a function that counts a statement about to be sent, and says whether to keep it prepared */
export function createFrequentStatements(): (text: string) => boolean {
  const frequent = new Set<string>();
  const counts = new Map<string, number>();
  return (text) => {
    if (frequent.has(text)) return true;
    if (text.length > MAX_CHARACTERS || frequent.size >= MAX_FREQUENT) return false;
    if (counts.size >= MAX_COUNTED) counts.clear();
    const count = (counts.get(text) ?? 0) + 1;
    if (count < FREQUENT_FROM) {
      counts.set(text, count);
      return false;
    }
    counts.delete(text);
    frequent.add(text);
    return true;
  };
}
