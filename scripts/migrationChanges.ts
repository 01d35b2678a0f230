/**
 * The changes of released migrations that are refused. An installation decides only by `when` which
 * migrations it lacks: a changed one reaches only new installations, and one that is older than the newest
 * applied one reaches none.
 */
export interface Migration {
  /** Path below drizzle/. */
  file: string;
  /** When the migration was written, in milliseconds; migrations are applied in this order. */
  when: number;
  /** Hash of the file, in hexadecimal. */
  sha256: string;
}

/** A sentence for each migration that installations would skip, or apply otherwise. */
export function findRefusedMigrations(
  released: readonly Migration[],
  current: readonly Migration[],
): string[] {
  const present = new Map(current.map((migration) => [migration.file, migration]));
  const known = new Set(released.map(({ file }) => file));
  const changed = released.flatMap(({ file, when, sha256 }) => {
    const now = present.get(file);
    if (now?.sha256 === sha256 && now.when === when) return [];
    const what = now === undefined ? 'is gone' : now.when === when ? 'is changed' : 'has another time';
    return [`${file} is released and ${what}: restore it, and write what is to change as a new migration.`];
  });
  const late = current.flatMap(({ file, when }) => {
    const newest = Math.max(
      ...released.filter((one) => setOf(one.file) === setOf(file)).map((one) => one.when),
    );
    if (known.has(file) || when > newest) return [];
    return [
      `${file} is older than a released one, so installations skip it: generate it again, by a right clock.`,
    ];
  });
  return [...changed, ...late];
}

const setOf = (file: string) => file.split('/')[0];
