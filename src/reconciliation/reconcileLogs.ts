/**
 * Compares the transparency logs with their signed heads: the newest one, those kept of earlier days, and
 * those that an auditor has kept. The leaves hash to each of these roots. So since each of these heads,
 * leaves were only appended, and none was changed.
 */
import { and, asc, eq, gt, sql } from 'drizzle-orm';
import type { Db, Tx } from '../db/connection.ts';
import { LOG_NAMES, transparencyCheckpoints, transparencyTiles } from '../db/tables/index.ts';
import { parseCheckpoint, type SignedNote } from '../transparency/checkpoint.ts';
import type { LogName } from '../transparency/leaves.ts';
import { LogDamaged, type TransparencyLogs } from '../transparency/logs.ts';
import {
  edgeOf,
  hashesOf,
  HASH_BYTES,
  rootOf,
  tileHash,
  TILE_WIDTH,
  unlessMissing,
  widthOf,
  type Tile,
} from '../transparency/merkle.ts';
import { readHead } from '../transparency/inclusion.ts';
import { isOfOtherDatabase } from '../transparency/nextLeaves.ts';
import { IS_NEXT_TRANSFER } from '../transparency/nextTransfers.ts';
import { readHashes, readTiles } from '../transparency/tiles.ts';
import type { Snapshot } from './excerpt.ts';
import { add, MAX_FINDINGS, nothingCompared, unproved, type Comparison, type Finding } from './verdicts.ts';

export interface LogDependencies {
  db: Db;
  /** Left out when only books and network are compared. */
  logs?: Pick<TransparencyLogs, 'key' | 'catchUp'>;
  /** Signed heads of the logs, kept elsewhere: a person who can write to the database can't change them. */
  keptCheckpoints?: readonly SignedNote[];
}

/** Tiles read at a time, of 8 kB each. */
const TILES_PER_READ = 64;
const CHECKPOINTS_PER_READ = 100;

/**
 * Lets the logs grow by everything committed before: a row that is compared with them afterwards is in them,
 * or missing.
 * @param snapshot given when only tiles written since are to be read again
 * @returns the rows that no log has yet, for a reason that ends; and a function that compares the logs with
 *   their heads, in a transaction that reads
 */
export async function readyLogs(
  deps: LogDependencies,
  snapshot: Snapshot | null = null,
): Promise<{ unlogged: Comparison; compare: (tx: Tx) => Promise<Finding[]> }> {
  const damage = await growLogs(deps);
  return { unlogged: await findUnlogged(deps), compare: compareLogs(deps, damage, snapshot) };
}

/** @returns the damage that keeps the logs from growing */
async function growLogs({ logs }: Pick<LogDependencies, 'logs'>): Promise<string[]> {
  try {
    await logs?.catchUp();
    return [];
  } catch (error) {
    if (!(error instanceof LogDamaged)) throw error;
    return [error.message];
  }
}

function compareLogs(
  { logs, keptCheckpoints = [] }: LogDependencies,
  damage: readonly string[],
  snapshot: Snapshot | null,
): (tx: Tx) => Promise<Finding[]> {
  if (logs === undefined) return async () => [];
  return async (tx) => {
    const messages = [...damage];
    for (const log of LOG_NAMES) {
      const found = await examine(tx, log, { key: logs.key, keptCheckpoints }, snapshot);
      messages.push(...found.filter((message) => !damage.includes(message)).slice(0, MAX_FINDINGS));
    }
    return messages.map((message) => ({ invariant: 'I15', message }));
  };
}

/** Finds the rows that no log has yet, for a reason that ends. */
export async function findUnlogged({ db, logs }: LogDependencies): Promise<Comparison> {
  const sum = nothingCompared();
  if (logs === undefined) return sum;
  add(sum, await findUncompared(db));
  add(sum, await findLate(db));
  return sum;
}

/**
 * The log of another database, or a new log, accepts nothing and is not compared before all transfers have
 * been compared with it once. An open transaction delays that.
 */
async function findUncompared(db: Db): Promise<Comparison> {
  const head = await readHead(db, 'transfers');
  if (head === null || !(await isOfOtherDatabase(db, head))) return nothingCompared();
  const [waiting] = await db.execute(sql`SELECT 1 FROM transfers
    WHERE ${head.database !== null} OR created_at < now() - interval '1 minute' LIMIT 1`);
  if (waiting === undefined) return nothingCompared();
  const message =
    'the transfers were not compared with their transparency log since the database was copied, or since the log began: ' +
    'a transaction is open that began before they were written, or their log is damaged';
  return unproved(['I15'], 'LEFT_OUT', message);
}

/**
 * An open transaction blocks the transfers that later ones have committed. Instances date transfers, and
 * their clocks may be slow, so a delay is reported only if the log has not grown for a minute. If this run
 * has let the log grow up to the open transaction, the next run reports it.
 */
async function findLate(db: Db): Promise<Comparison> {
  const [late] = await db.execute<{ transfers: number }>(sql`
    SELECT count(*)::int AS transfers FROM transfers t JOIN transparency_heads h ON h.log = 'transfers'
    WHERE ${sql.raw(IS_NEXT_TRANSFER)} AND greatest(t.created_at, h.updated_at) < now() - interval '1 minute'`);
  const transfers = late?.transfers ?? 0;
  if (transfers === 0) return nothingCompared();
  const message = `${transfers} transfers are older than a minute, and not in the transparency log yet: a transaction is open that began before them, or their log is damaged`;
  return unproved(['I15'], 'UNDER_WAY', message);
}

async function examine(
  tx: Tx,
  log: LogName,
  { key, keptCheckpoints }: { key: TransparencyLogs['key']; keptCheckpoints: readonly SignedNote[] },
  snapshot: Snapshot | null,
): Promise<string[]> {
  const head = await readHead(tx, log);
  if (head === null) return [`the transparency log of ${log} has no head`];
  const messages: string[] = [];
  const note = parseCheckpoint(head.checkpoint);
  if (note === null || note.size !== head.size || !note.root.equals(head.root)) {
    messages.push(`the head of the transparency log of ${log} is not what its checkpoint says`);
  }
  const holdAgainst = async (checkpoint: SignedNote | null, what: string) => {
    if (checkpoint === null || !key.isSigned(checkpoint)) {
      messages.push(
        `${what} of the transparency log of ${log} is not signed with the key of this installation`,
      );
    } else if (checkpoint.size > head.size) {
      messages.push(
        `${what} of the transparency log of ${log} has ${checkpoint.size} leaves, and the log ${head.size}`,
      );
    } else if (!(await hasRoot(tx, log, checkpoint))) {
      messages.push(
        `the transparency log of ${log} was rewritten: ${what}, of ${checkpoint.size} leaves, has another root`,
      );
    }
  };
  await holdAgainst(note, 'the newest checkpoint');
  for (const kept of keptCheckpoints.filter(({ origin }) => logOf(origin) === log)) {
    await holdAgainst(kept, 'the checkpoint that was given');
  }
  for (let after = -1; ;) {
    const page = await readCheckpoints(tx, log, after);
    const last = page.at(-1);
    if (last === undefined) break;
    for (const { size, checkpoint } of page) {
      const kept = parseCheckpoint(checkpoint);
      await holdAgainst(kept?.size === size ? kept : null, `the checkpoint at ${size}`);
    }
    after = last.size;
  }
  messages.push(...(await examineTiles(tx, log, head.size, snapshot)));
  return messages;
}

/** The log that a checkpoint belongs to, by the last part of its name. */
export function logOf(origin: string): LogName | null {
  return LOG_NAMES.find((log) => origin.endsWith(`/${log}`)) ?? null;
}

async function hasRoot(tx: Tx, log: LogName, { size, root }: SignedNote): Promise<boolean> {
  const at = await readHashes(tx, log, edgeOf(size));
  return unlessMissing(() => root.equals(rootOf(at, size))) ?? false;
}

function readCheckpoints(tx: Tx, log: LogName, after: number) {
  return tx
    .select()
    .from(transparencyCheckpoints)
    .where(and(eq(transparencyCheckpoints.log, log), gt(transparencyCheckpoints.size, after)))
    .orderBy(asc(transparencyCheckpoints.size))
    .limit(CHECKPOINTS_PER_READ);
}

/**
 * Checks that no tile is missing, and that each whole tile has its hash in the tile above, up to the tiles
 * from which the root is computed.
 */
async function examineTiles(
  tx: Tx,
  log: LogName,
  size: number,
  snapshot: Snapshot | null,
): Promise<string[]> {
  const messages: string[] = [];
  for (let level = 0; widthOf(size, level) > 0; level += 1) {
    const width = widthOf(size, level);
    let tiles = 0;
    for (let after = -1; messages.length < MAX_FINDINGS;) {
      const page = await readPage(tx, { log, level, after }, snapshot);
      const last = page.at(-1);
      if (last === undefined) break;
      messages.push(...(await holdPage(tx, log, page, width)));
      tiles += page.length;
      after = last.index;
    }
    const expected = Math.ceil(width / TILE_WIDTH);
    if (snapshot === null && tiles !== expected && messages.length < MAX_FINDINGS) {
      messages.push(
        `level ${level} of the transparency log of ${log} has ${tiles} tiles instead of ${expected}`,
      );
    }
  }
  return messages;
}

async function readPage(
  tx: Tx,
  { log, level, after }: { log: LogName; level: number; after: number },
  snapshot: Snapshot | null,
): Promise<Tile[]> {
  const { index, hashes } = transparencyTiles;
  const isWritten =
    snapshot && sql`age(${transparencyTiles}.xmin) BETWEEN 0 AND age(${snapshot.transaction}::xid8::xid)`;
  const rows = await tx
    .select({ index, hashes })
    .from(transparencyTiles)
    .where(
      and(
        eq(transparencyTiles.log, log),
        eq(transparencyTiles.level, level),
        gt(index, after),
        isWritten ?? undefined,
      ),
    )
    .orderBy(asc(index))
    .limit(TILES_PER_READ);
  return rows.map((row) => ({ level, index: row.index, hashes: Buffer.from(row.hashes) }));
}

async function holdPage(tx: Tx, log: LogName, page: readonly Tile[], width: number): Promise<string[]> {
  const whole = page.filter(({ hashes }) => hashes.length === TILE_WIDTH * HASH_BYTES);
  const parents = new Set(whole.map(({ index }) => Math.floor(index / TILE_WIDTH)));
  const level = (page[0]?.level ?? 0) + 1;
  const above = hashesOf(
    await readTiles(
      tx,
      log,
      [...parents].map((index) => ({ level, index })),
    ),
  );
  return page.flatMap((tile) => {
    const expected = Math.min(TILE_WIDTH, width - tile.index * TILE_WIDTH);
    const name = `tile ${tile.level}/${tile.index} of the transparency log of ${log}`;
    if (tile.hashes.length !== expected * HASH_BYTES) {
      return [`${name} has ${tile.hashes.length / HASH_BYTES} hashes instead of ${Math.max(0, expected)}`];
    }
    return expected < TILE_WIDTH || isHashOf(tile, above) ? [] : [`${name} has been rewritten`];
  });
}

function isHashOf(tile: Tile, above: ReturnType<typeof hashesOf>): boolean {
  return unlessMissing(() => Buffer.from(tileHash(tile)).equals(above(tile.level + 1, tile.index))) ?? false;
}
