/**
 * The tiles of a log in the database.
 */
import { sql } from 'drizzle-orm';
import type { Db, Tx } from '../db/connection.ts';
import { isOneOfKeys } from '../db/manyRows.ts';
import { transparencyTiles } from '../db/tables/index.ts';
import { HASH_BYTES, hashesOf, TILE_WIDTH, widthOf, type HashAt, type Tile } from './merkle.ts';
import type { LogName } from './leaves.ts';

type Reader = Pick<Db, 'select'>;

export async function readTiles(
  db: Reader,
  log: LogName,
  places: readonly Pick<Tile, 'level' | 'index'>[],
): Promise<Tile[]> {
  if (places.length === 0) return [];
  const { level, index, hashes } = transparencyTiles;
  const keys = places.map((place) => [log, place.level, place.index]);
  const rows = await db
    .select({ level, index, hashes })
    .from(transparencyTiles)
    .where(isOneOfKeys([transparencyTiles.log, level, index], keys));
  return rows.map((row) => ({ ...row, hashes: Buffer.from(row.hashes) }));
}

/** Reads the hashes in tiles of the log, each of which may be named many times. */
export async function readHashes(
  db: Reader,
  log: LogName,
  places: readonly Pick<Tile, 'level' | 'index'>[],
): Promise<HashAt> {
  const distinct = new Map(places.map((place) => [`${place.level}/${place.index}`, place]));
  return hashesOf(await readTiles(db, log, [...distinct.values()]));
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
