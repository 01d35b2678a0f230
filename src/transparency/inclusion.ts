/**
 * Proofs that a retirement record or a transfer is in its log: made from the stored tiles, and checked from a
 * certificate's data.
 */
import { aliasedTable, eq, sql, type SQL } from 'drizzle-orm';
import type { Db } from '../db/connection.ts';
import { isOneOf } from '../db/manyRows.ts';
import { retirementRecords, transfers, transparencyHeads } from '../db/tables/index.ts';
import { isSameNetwork } from '../lib/sameNetwork.ts';
import { yieldToEventLoop } from '../lib/yieldToEventLoop.ts';
import { parseCheckpoint, type LogKey } from './checkpoint.ts';
import { RECORD_LEAF, RELATED_TO_TRANSFER, TRANSFER_LEAF, type LogName } from './leaves.ts';
import { inclusionProof, leafHash, rootOfProof, TILE_WIDTH, tilesOfProof } from './merkle.ts';
import { IS_NEXT_TRANSFER } from './nextTransfers.ts';
import { readHashes } from './tiles.ts';

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

/** Proves records by the indexes of their leaves. Those that the log does not have yet are not in the map. */
export function proveRecords(
  { db }: { db: Db },
  leafIndexes: readonly number[],
): Promise<ReadonlyMap<number, InclusionProof>> {
  return prove(db, 'retirements', new Map(leafIndexes.map((index) => [index, index])), readEntries);
}

/** Proves transfers in the books, by their ids. Those that the log does not have yet are not in the map. */
export async function proveTransfers(
  { db }: { db: Db },
  ids: readonly string[],
): Promise<ReadonlyMap<string, InclusionProof>> {
  return prove(db, 'transfers', await findLeavesOfTransfers(db, ids), readTransferEntries);
}

async function readTransferEntries(db: Db, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await db.execute<{ id: string; data: string }>(sql`
    SELECT t.id, ${sql.raw(TRANSFER_LEAF)} AS data FROM transfers t ${sql.raw(RELATED_TO_TRANSFER)}
    WHERE ${isOneOf(transfer.id, ids)}`);
  return new Map(rows.map(({ id, data }) => [id, data]));
}

const transfer = aliasedTable(transfers, 't');
const record = aliasedTable(retirementRecords, 'r');

/**
 * Finds the indexes of transfers' leaves. All tiles are searched only for a transfer that was logged in
 * another copy of the database.
 */
export async function findLeavesOfTransfers(
  db: Pick<Db, 'execute'>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const found = await findByOrder(db, ids);
  const others = ids.filter((id) => !found.has(id));
  if (others.length === 0) return found;
  const elsewhere = await findInTiles(
    db,
    sql`SELECT t.id FROM transfers t LEFT JOIN transparency_heads h ON h.log = 'transfers'
      WHERE ${isOneOf(transfer.id, others)} AND (${sql.raw(IS_NEXT_TRANSFER)}) IS NOT TRUE`,
    sql`true`,
  );
  return new Map([...found, ...elsewhere]);
}

/**
 * A binary search for each transfer: a log takes transfers in the order of their transactions and ids. The
 * order does not hold across copies of a database, each of which has transactions of its own: there the
 * search finds a wrong tile. The limits make the planner fetch single tiles; a join may read all of them.
 */
function findByOrder(db: Pick<Db, 'execute'>, ids: readonly string[]): Promise<Map<string, number>> {
  const searched = sql`
    WITH RECURSIVE halves AS (
      SELECT t.id, t.written_in, 0::bigint AS first, (h.size - 1) / ${TILE_WIDTH}::bigint AS last
        FROM transfers t JOIN transparency_heads h ON h.log = 'transfers' AND h.size > 0
        WHERE ${isOneOf(transfer.id, ids)}
      UNION ALL
      SELECT id, written_in, CASE WHEN is_from THEN middle ELSE first END,
        CASE WHEN is_from THEN last ELSE middle - 1 END
      FROM (SELECT *, (first + last + 1) / 2 AS middle FROM halves WHERE first < last) AS h
      CROSS JOIN LATERAL (SELECT (h.written_in, h.id) >= (f.written_in, f.id) AS is_from
        FROM transparency_tiles x JOIN transfers f ON f.id = x.row_ids[1]
        WHERE x.log = 'transfers' AND x.level = 0 AND x.index = h.middle LIMIT 1) AS compared
    )
    SELECT id, first FROM halves WHERE first = last`;
  return findInTiles(db, searched, sql`x.index = wanted.first`);
}

/** @param wanted a select of the transfers' ids @param isMeant which of the tiles x to search for each */
async function findInTiles(db: Pick<Db, 'execute'>, wanted: SQL, isMeant: SQL): Promise<Map<string, number>> {
  const leaves = await db.execute<{ id: string; index: number }>(sql`
    SELECT wanted.id, leaf.index FROM (${wanted}) AS wanted CROSS JOIN LATERAL (
      SELECT (x.index * ${TILE_WIDTH} + array_position(x.row_ids, wanted.id) - 1)::float8 AS index
      FROM transparency_tiles x
      WHERE x.log = 'transfers' AND x.level = 0 AND ${isMeant} AND wanted.id = ANY (x.row_ids) LIMIT 1) AS leaf`);
  return new Map(leaves.map(({ id, index }) => [id, index]));
}

/** @param leaves the leaves' indexes, by the keys by which `readData` finds the leaves' entries */
async function prove<Key>(
  db: Db,
  log: LogName,
  leaves: ReadonlyMap<Key, number>,
  readData: (db: Db, keys: readonly Key[]) => Promise<ReadonlyMap<Key, string>>,
): Promise<ReadonlyMap<Key, InclusionProof>> {
  const head = await readHead(db, log);
  if (head === null) return new Map();
  const { size, root, checkpoint } = head;
  const logged = [...leaves].filter(([, leafIndex]) => leafIndex < size);
  if (logged.length === 0) return new Map();
  const tiles = logged.flatMap(([, leafIndex]) => tilesOfProof(leafIndex, size));
  const at = await readHashes(db, log, tiles);
  const entries = await readData(
    db,
    logged.map(([key]) => key),
  );
  const proofs = new Map<Key, InclusionProof>();
  for (const [key, leafIndex] of logged) {
    const entry = entries.get(key);
    if (entry === undefined) continue;
    const hashes = inclusionProof(at, leafIndex, size).map((hash) => Buffer.from(hash));
    proofs.set(key, { leafIndex, entry, hashes, treeSize: size, rootHash: Buffer.from(root), checkpoint });
    // A proof takes a millisecond, and a page has a hundred.
    await yieldToEventLoop();
  }
  return proofs;
}

/** The entries of the log of retirements, by the indexes of their leaves. */
export async function readEntries(
  db: Db,
  leafIndexes: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  const positions = leafIndexes.map((index) => String(index + 1));
  const rows = await db.execute<{ index: number; data: string }>(sql`
    SELECT (r.position - 1)::float8 AS index, ${sql.raw(RECORD_LEAF)} AS data FROM retirement_records r
    WHERE ${isOneOf(record.position, positions)}`);
  return new Map(rows.map(({ index, data }) => [index, data]));
}

/** Returns a proof's defect; null when the entry is in the log whose head this installation signed. */
type CheckInclusion = (
  proof: Pick<InclusionProof, 'leafIndex' | 'entry' | 'treeSize' | 'checkpoint'> & {
    hashes: readonly string[];
    rootHash: string;
  },
) => 'NO_CHECKPOINT' | 'NOT_SIGNED' | 'OTHER_NETWORK' | 'OTHER_HEAD' | 'NOT_INCLUDED' | null;

export function createInclusionCheck(key: LogKey, networkId: string): CheckInclusion {
  return ({ leafIndex, entry, hashes, treeSize, rootHash, checkpoint }) => {
    const note = parseCheckpoint(checkpoint);
    if (note === null) return 'NO_CHECKPOINT';
    if (!key.isSigned(note)) return 'NOT_SIGNED';
    // Installations on two networks may have one secret, and so one key.
    if (!isSameNetwork(note.networkId, networkId)) return 'OTHER_NETWORK';
    // Readers of the proof see the count and the root, although the hashes are compared with the signed ones.
    if (treeSize !== note.size || rootHash !== note.root.toString('hex')) return 'OTHER_HEAD';
    // Buffer.from ignores the text from the first other character on.
    const isWhole = hashes.every((hash) => /^[0-9a-f]{64}$/i.test(hash));
    const path = hashes.map((hash) => Buffer.from(hash, 'hex'));
    const root = isWhole ? rootOfProof(leafHash(Buffer.from(entry)), leafIndex, note.size, path) : null;
    return root !== null && note.root.equals(root) ? null : 'NOT_INCLUDED';
  };
}
