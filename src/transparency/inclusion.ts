/**
 * Proofs that a retirement record or a transfer is in its log: made from the stored tiles, and checked from a
 * certificate's data.
 */
import { eq, sql, type SQL } from 'drizzle-orm';
import type { Db } from '../db/connection.ts';
import { transparencyHeads } from '../db/tables/index.ts';
import { isSameNetwork } from '../lib/sameNetwork.ts';
import { parseCheckpoint, type LogKey } from './checkpoint.ts';
import { RECORD_LEAF, RELATED_TO_TRANSFER, TRANSFER_LEAF, type LogName } from './leaves.ts';
import { HASH_BYTES, inclusionProof, leafHash, rootOfProof, TILE_WIDTH } from './merkle.ts';
import { IS_NEXT_TRANSFER } from './nextTransfers.ts';
import { computeFrom } from './tiles.ts';

export interface InclusionProof {
  leafIndex: number;
  /** The text that the leaf is a hash of. */
  entry: string;
  /** The hashes from the leaf to the root. */
  hashes: Buffer[];
  treeSize: number;
  rootHash: Buffer;
  /** The signed head with this size and root. */
  checkpoint: string;
}

export async function readHead(db: Pick<Db, 'select'>, log: LogName) {
  const [head] = await db.select().from(transparencyHeads).where(eq(transparencyHeads.log, log));
  return head ?? null;
}

/** The leaf index of a record: leaves are in the feed's order, whose positions begin with 1. */
export function leafIndexOf({ position }: { position: bigint }): bigint {
  return position - 1n;
}

/** Null while the log does not have the leaf yet. */
export async function proveInclusion(db: Db, leafIndex: number): Promise<InclusionProof | null> {
  return prove(db, 'retirements', leafIndex, async () => (await readEntries(db, leafIndex, 1))[0]);
}

/** Proves a transfer in the books, found by its id. Null while the log does not have the leaf yet. */
export async function proveTransfer(db: Db, id: string): Promise<InclusionProof | null> {
  const index = await findLeafOfTransfer(db, id);
  if (index === null) return null;
  return prove(db, 'transfers', index, async () => {
    const [row] = await db.execute<{ data: string }>(sql`SELECT ${sql.raw(TRANSFER_LEAF)} AS data
      FROM transfers t ${sql.raw(RELATED_TO_TRANSFER)} WHERE t.id = ${id}`);
    return row?.data;
  });
}

/** All tiles are searched only for a transfer that was logged in another copy of the database. */
export async function findLeafOfTransfer(db: Pick<Db, 'execute'>, id: string): Promise<number | null> {
  const tile = await findTileOfTransfer(db, id);
  const leaf = tile === null ? null : await findInTiles(db, id, sql`index = ${tile}::bigint`);
  if (leaf !== null) return leaf;
  const [next] =
    await db.execute(sql`SELECT 1 FROM transfers t JOIN transparency_heads h ON h.log = 'transfers'
    WHERE t.id = ${id} AND ${sql.raw(IS_NEXT_TRANSFER)}`);
  return next === undefined ? findInTiles(db, id, sql`true`) : null;
}

async function findInTiles(db: Pick<Db, 'execute'>, id: string, isMeant: SQL): Promise<number | null> {
  const [leaf] = await db.execute<{ index: number }>(sql`
    SELECT (index * ${TILE_WIDTH} + array_position(row_ids, ${id}::uuid) - 1)::float8 AS index FROM transparency_tiles
    WHERE log = 'transfers' AND level = 0 AND ${isMeant} AND ${id}::uuid = ANY (row_ids)`);
  return leaf?.index ?? null;
}

/**
 * A binary search: a log takes transfers in the order of their transactions and ids. The order does not hold
 * across copies of a database, each of which has transactions of its own: there the search finds a wrong
 * tile.
 */
async function findTileOfTransfer(db: Pick<Db, 'execute'>, id: string): Promise<number | null> {
  const [found] = await db.execute<{ tile: number }>(sql`
    WITH RECURSIVE halves AS (
      SELECT 0::bigint AS first, (size - 1) / ${TILE_WIDTH}::bigint AS last FROM transparency_heads
        WHERE log = 'transfers' AND size > 0
      UNION ALL
      SELECT CASE WHEN is_from THEN middle ELSE first END, CASE WHEN is_from THEN last ELSE middle - 1 END
      FROM (SELECT first, last, (first + last + 1) / 2 AS middle FROM halves WHERE first < last) AS h
      CROSS JOIN LATERAL (SELECT (t.written_in, t.id) >= (f.written_in, f.id) AS is_from
        FROM transparency_tiles x JOIN transfers f ON f.id = x.row_ids[1] JOIN transfers t ON t.id = ${id}
        WHERE x.log = 'transfers' AND x.level = 0 AND x.index = h.middle) AS compared
    )
    SELECT first::float8 AS tile FROM halves WHERE first = last`);
  return found?.tile ?? null;
}

async function prove(
  db: Db,
  log: LogName,
  leafIndex: number,
  readEntry: () => Promise<string | undefined>,
): Promise<InclusionProof | null> {
  const head = await readHead(db, log);
  if (head === null || leafIndex >= head.size) return null;
  const { size, root, checkpoint } = head;
  const hashes = await computeFrom(db, log, (at) => inclusionProof(at, leafIndex, size));
  const entry = await readEntry();
  if (entry === undefined) return null;
  return {
    leafIndex,
    entry,
    hashes: hashes.map((hash) => Buffer.from(hash)),
    treeSize: size,
    rootHash: Buffer.from(root),
    checkpoint,
  };
}

/** The entries of leaves that follow each other. */
export async function readEntries(db: Db, first: number, count: number): Promise<string[]> {
  const rows = await db.execute<{ data: string }>(sql`
    SELECT ${sql.raw(RECORD_LEAF)} AS data FROM retirement_records r
    WHERE r.position > ${first} AND r.position <= ${first + count} ORDER BY r.position`);
  return rows.map(({ data }) => data);
}

/** Returns a proof's defect; null when the entry is in the log whose head this installation signed. */
type CheckInclusion = (
  proof: Pick<InclusionProof, 'leafIndex' | 'entry' | 'treeSize' | 'checkpoint'> & {
    hashes: readonly string[];
    rootHash: string;
  },
) => 'NO_CHECKPOINT' | 'NOT_SIGNED' | 'OTHER_NETWORK' | 'OTHER_HEAD' | 'NOT_INCLUDED' | null;

/** Maximum height of a tree whose leaves a number counts exactly. */
const MAX_HASHES = 53;

export function createInclusionCheck(key: LogKey, networkId: string): CheckInclusion {
  return ({ leafIndex, entry, hashes, treeSize, rootHash, checkpoint }) => {
    const note = parseCheckpoint(checkpoint);
    if (note === null) return 'NO_CHECKPOINT';
    if (!key.isSigned(note)) return 'NOT_SIGNED';
    // Installations on two networks may have one secret, and so one key.
    if (!isSameNetwork(note.networkId, networkId)) return 'OTHER_NETWORK';
    // Readers of the proof see the count and the root, although the hashes are compared with the signed ones.
    if (treeSize !== note.size || rootHash !== note.root.toString('hex')) return 'OTHER_HEAD';
    const path = hashes.slice(0, MAX_HASHES + 1).map((hash) => Buffer.from(hash, 'hex'));
    const isWhole = path.length <= MAX_HASHES && path.every(({ length }) => length === HASH_BYTES);
    const root = isWhole ? rootOfProof(leafHash(Buffer.from(entry)), leafIndex, note.size, path) : null;
    return root !== null && note.root.equals(root) ? null : 'NOT_INCLUDED';
  };
}
