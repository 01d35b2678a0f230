/**
 * The tiles of a log in the database.
 */
import { sql } from 'drizzle-orm';
import type { Db, Tx } from '../db/connection.ts';
import { transparencyTiles } from '../db/tables/index.ts';
import { yieldToEventLoop } from '../lib/yieldToEventLoop.ts';
import { HASH_BYTES, hashesOf, tilesFor, TILE_WIDTH, widthOf, type HashAt, type Tile } from './merkle.ts';
import type { LogName } from './leaves.ts';

type Reader = Pick<Db, 'select'>;

export async function readTiles(
  db: Reader,
  log: LogName,
  places: readonly Pick<Tile, 'level' | 'index'>[],
): Promise<Tile[]> {
  if (places.length === 0) return [];
  const { level, index, hashes } = transparencyTiles;
  const wanted = places.map((place) => sql`(${place.level}::int, ${place.index}::bigint)`);
  const rows = await db
    .select({ level, index, hashes })
    .from(transparencyTiles)
    .where(sql`${transparencyTiles.log} = ${log} AND (${level}, ${index}) IN (${sql.join(wanted, sql`, `)})`);
  return rows.map((row) => ({ ...row, hashes: Buffer.from(row.hashes) }));
}

/** Computes from the stored tiles. @throws MissingHash when the log lacks a needed hash */
export async function computeFrom<T>(db: Reader, log: LogName, compute: (at: HashAt) => T): Promise<T> {
  const [value] = await computeAll(db, log, [compute]);
  return value as T;
}

/** Like computeFrom; all tiles are read in one statement. */
export async function computeAll<T>(
  db: Reader,
  log: LogName,
  computations: readonly ((at: HashAt) => T)[],
): Promise<T[]> {
  const places = new Map<string, Pick<Tile, 'level' | 'index'>>();
  for (const compute of computations) {
    for (const tile of tilesFor(compute)) places.set(`${tile.level}/${tile.index}`, tile);
    // A proof takes a millisecond, and a page has a hundred.
    await yieldToEventLoop();
  }
  const at = hashesOf(await readTiles(db, log, [...places.values()]));
  const values: T[] = [];
  for (const compute of computations) {
    values.push(compute(at));
    await yieldToEventLoop();
  }
  return values;
}

/**
 * Adds to each stored tile its hashes beyond the earlier size.
 * @param rowIds the rows of the new leaves; null if a leaf's row follows from its place
 */
export async function writeTiles(
  tx: Tx,
  { log, size }: { log: LogName; size: number },
  tiles: readonly Tile[],
  rowIds: readonly string[] | null,
): Promise<void> {
  const idsOf = rowIds && byTile(size, rowIds);
  const values = tiles.map(({ level, index, hashes }) => ({
    log,
    level,
    index,
    hashes: hashes.subarray(HASH_BYTES * Math.max(0, widthOf(size, level) - index * TILE_WIDTH)),
    rowIds: level === 0 && idsOf ? (idsOf.get(index) ?? []) : null,
  }));
  await tx
    .insert(transparencyTiles)
    .values(values)
    .onConflictDoUpdate({
      target: [transparencyTiles.log, transparencyTiles.level, transparencyTiles.index],
      set: {
        hashes: sql`${transparencyTiles.hashes} || excluded.hashes`,
        rowIds: sql`${transparencyTiles.rowIds} || excluded.row_ids`,
      },
    });
}

function byTile(size: number, rowIds: readonly string[]): ReadonlyMap<number, string[]> {
  const tiles = new Map<number, string[]>();
  for (const [place, id] of rowIds.entries()) {
    const index = Math.floor((size + place) / TILE_WIDTH);
    const ids = tiles.get(index) ?? [];
    ids.push(id);
    tiles.set(index, ids);
  }
  return tiles;
}
