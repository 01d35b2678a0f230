/**
 * Which statements a connection should keep prepared: those whose text comes again and again. One that is not kept takes two round
 * trips, because postgres.js first asks for the types of its parameters.
 *
 * Lists of values of every length make new texts without end, and each kept statement takes memory of each connection: so a text has
 * to be frequent first, and there is a bound. A plan that was made for a young table lasts as long as its connection, half an hour
 * (pool.ts), or until the table is analysed.
 */

/** Seen this often, it will be again. */
const FREQUENT_FROM = 3;
/** Some tens of kilobytes each, on each connection. */
const MAX_FREQUENT = 150;
/** Texts that are counted at a time; then the counting begins anew. */
const MAX_COUNTED = 1_000;
/** A longer one is a list of values. */
const MAX_CHARACTERS = 4_000;

/** @returns counts a statement that is about to be sent, and says whether to keep it prepared */
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
