/**
 * The transparency logs of an installation, and their growth: from committed rows, a bounded number at a
 * time.
 *
 *   rows ─▶ leaves ─▶ tiles, root, signed checkpoint: one transaction, under the lock of the log's head
 *
 * Checkpoints are published from the committed row alone, and the lock lets one program at a time make the
 * next one: no two checkpoints of one size differ, with any number of instances, whenever one is killed.
 */
import { eq, sql } from 'drizzle-orm';
import { CURRENT_DATABASE } from '../db/currentDatabase.ts';
import type { Db, Tx } from '../db/connection.ts';
import { LOG_NAMES, transparencyCheckpoints, transparencyHeads } from '../db/tables/index.ts';
import { createLogKey, parseCheckpoint, type LogKey } from './checkpoint.ts';
import { readHead } from './inclusion.ts';
import type { LogName } from './leaves.ts';
import { edgeOf, growTiles, hashesOf, HASH_BYTES, rootOf, unlessMissing, type Tile } from './merkle.ts';
import { isOfOtherDatabase, NEXT_LEAVES, type Head } from './nextLeaves.ts';
import { IS_NEXT_TRANSFER } from './nextTransfers.ts';
import { createShownHeads, type ShownHeads } from './shownHeads.ts';
import { readTiles, writeTiles } from './tiles.ts';

export interface TransparencyLogs {
  key: LogKey;
  /** For code that serves a head. */
  shown: Pick<ShownHeads, 'note'>;
  /** Returns the logs that lack committed rows. One statement. */
  findBehind(): Promise<LogName[]>;
  /**
   * Appends the rows that were committed before the call, a step at a time, until `isOver`. Skips a log that
   * another instance builds.
   */
  build(log: LogName, isOver?: () => boolean): Promise<void>;
  /**
   * Like build for all logs, but waits for other instances.
   * @throws the first log's error, after the others
   */
  catchUp(): Promise<void>;
}

/** The log contradicts its head. Nothing more is appended, because that would sign the change. */
export class LogDamaged extends Error {
  override readonly name = 'LogDamaged';
}

/** Deadline for comparing all ids once, in a copy of the database. */
const COMPARE_TIMEOUT_MS = 30 * 60_000;

export function createTransparencyLogs(deps: {
  db: Db;
  /** 32 secret bytes. */
  seed: Uint8Array;
  origin: OriginSettings;
  networkId: string;
}): TransparencyLogs {
  const { db, origin, networkId } = deps;
  const signer: Signer = { key: createLogKey(deps.seed), origin, networkId, shown: createShownHeads() };

  async function buildAll(log: LogName, waits: boolean, isOver: () => boolean = () => false): Promise<void> {
    // The loop ends: rows that are committed after a step has begun are left to the next call.
    while (!isOver() && (await step(db, log, signer, waits)));
  }

  return {
    key: signer.key,
    shown: signer.shown,
    findBehind: () => findBehind(db, signer),
    build: (log, isOver) => buildAll(log, false, isOver),
    async catchUp() {
      const failures: unknown[] = [];
      for (const log of LOG_NAMES) await buildAll(log, true).catch((error: unknown) => failures.push(error));
      if (failures.length > 0) throw failures[0];
    },
  };
}

/**
 * The first part of the logs' names. A change begins a new log for all followers: it needs its own setting.
 */
export interface OriginSettings {
  /** For logs that have no name yet. */
  first: string;
  /** TRANSPARENCY_LOG_ORIGIN: for all logs, from now on. */
  given?: string | undefined;
}

/** `<host>/logs`: the address of the logs without a scheme. */
export function originOfUrl(publicUrl: string): string {
  return `${new URL(publicUrl).host}/logs`;
}

type Behind = Record<LogName, boolean> & { checkpoints: Partial<Record<LogName, string>> | null };

async function findBehind(db: Db, signer: Signer): Promise<LogName[]> {
  const [behind] = await db.execute<Behind>(sql`
    SELECT (SELECT position FROM feed_head) > (SELECT size FROM transparency_heads WHERE log = 'retirements') AS retirements,
      (SELECT EXISTS (SELECT 1 FROM transfers t WHERE ${sql.raw(IS_NEXT_TRANSFER)})
        OR h.database <> ${sql.raw(CURRENT_DATABASE)}
        FROM transparency_heads h WHERE log = 'transfers' AND h.written_in IS NOT NULL) AS transfers,
      (EXISTS (SELECT 1 FROM audit_writers w LEFT JOIN transparency_audit_writers l ON l.writer_id = w.id
          WHERE w.entries > coalesce(l.number, 0))
        OR EXISTS (SELECT 1 FROM transparency_open_entries o JOIN audit_entries e ON e.id = o.entry_id
          WHERE e.outcome IS NOT NULL)) AS audit,
      (SELECT json_object_agg(log, checkpoint) FROM transparency_heads) AS checkpoints`);
  return LOG_NAMES.filter((log) => {
    const checkpoint = behind?.checkpoints?.[log];
    // Another instance may have signed the checkpoint, and may not live as long as this one.
    if (checkpoint !== undefined) signer.shown.note(checkpoint);
    return checkpoint === undefined || isToBeRenamed({ log, checkpoint }, signer) || behind?.[log] !== false;
  });
}

interface Signer {
  key: LogKey;
  origin: OriginSettings;
  shown: ShownHeads;
  networkId: string;
}

/** @returns whether more rows may have been committed before the step */
async function step(db: Db, log: LogName, signer: Signer, waits: boolean): Promise<boolean> {
  const known = await readHead(db, log);
  const isCompared = log === 'transfers' && (known === null || (await isOfOtherDatabase(db, known)));
  const { hasMore, signed } = await db.transaction(
    async (tx) => {
      const head = await lockHead(tx, log, signer, waits);
      if (head === null) return { hasMore: false, signed: null };
      requireNoneLost(head, signer);
      const next = await NEXT_LEAVES[log](tx, head);
      const { hasMore } = next;
      if (next.hashes.length > 0 || isToBeRenamed(head, signer)) {
        return { hasMore, signed: await append(tx, head, next, signer) };
      }
      if (Object.keys(next.head).length > 0) await note(tx, log, next.head);
      return { hasMore, signed: null };
    },
    isCompared ? { statementTimeoutMs: COMPARE_TIMEOUT_MS } : {},
  );
  if (signed !== null) signer.shown.note(signed);
  return hasMore;
}

function originOf(log: LogName, head: Pick<Head, 'checkpoint'> | null, { origin }: Signer): string {
  const known = head && parseCheckpoint(head.checkpoint)?.origin;
  return origin.given === undefined && known ? known : `${origin.given ?? origin.first}/${log}`;
}

function isToBeRenamed(head: Pick<Head, 'log' | 'checkpoint'>, signer: Signer): boolean {
  return parseCheckpoint(head.checkpoint)?.origin !== originOf(head.log, head, signer);
}

/** @returns null when another program has locked it */
async function lockHead(tx: Tx, log: LogName, signer: Signer, waits: boolean): Promise<Head | null> {
  const select = () =>
    tx
      .select()
      .from(transparencyHeads)
      .where(eq(transparencyHeads.log, log))
      .for('update', waits ? {} : { skipLocked: true });
  const [head] = await select();
  if (head !== undefined) return head;
  const root = Buffer.from(rootOf(hashesOf([]), 0));
  const origin = originOf(log, null, signer);
  const { networkId } = signer;
  const checkpoint = signer.key.signCheckpoint({ origin, size: 0, root, networkId });
  await tx
    .insert(transparencyHeads)
    .values({ log, size: 0, root, checkpoint, updatedAt: sql`now()` })
    .onConflictDoNothing();
  return (await select())[0] ?? null;
}

/** Writes tiles, head and checkpoint in the caller's transaction. @returns the checkpoint */
async function append(
  tx: Tx,
  head: Head,
  next: { hashes: Buffer; rowIds: string[] | null; head: Partial<Head> },
  signer: Signer,
): Promise<string> {
  const { log } = head;
  const edge = await readTiles(tx, log, edgeOf(head.size));
  requireUndamaged(head, edge, signer);
  const grown = growTiles(edge, head.size, next.hashes);
  if (grown.length > 0) await writeTiles(tx, head, grown, next.rowIds);
  const size = head.size + next.hashes.length / HASH_BYTES;
  const root = Buffer.from(rootOf(hashesOf(newest([...edge, ...grown])), size));
  const origin = originOf(log, head, signer);
  const checkpoint = signer.key.signCheckpoint({ origin, size, root, networkId: signer.networkId });
  await note(tx, log, { ...next.head, size, root, checkpoint });
  await keepOneADay(tx, { log, size, checkpoint });
  return checkpoint;
}

/** The database may have lost its newest commits: a second root would be signed for a published size. */
function requireNoneLost(head: Head, signer: Signer): void {
  // The signed head is compared. A row that differs is damaged, which is found before an append.
  const signed = parseCheckpoint(head.checkpoint) ?? head;
  const contradiction = signer.shown.contradictionOf(originOf(head.log, head, signer), signed);
  if (contradiction === null) return;
  throw new LogDamaged(
    `The transparency log of ${head.log} ${contradiction}: the database has lost commits. Nothing is appended until ` +
      'TRANSPARENCY_LOG_ORIGIN gives the logs a new name: see docs/operations.md.',
  );
}

/** Checks, before the next root is signed, that the data from which it is computed was signed before. */
function requireUndamaged(head: Head, edge: readonly Tile[], { key }: Signer): void {
  const note = parseCheckpoint(head.checkpoint);
  if (note === null || !key.isSigned(note) || note.size !== head.size) {
    throw new LogDamaged(
      `The head of the transparency log of ${head.log} is not signed with the key of this installation, which follows from ` +
        'APP_SECRET. Nothing is appended until that is cleared up.',
    );
  }
  const root = unlessMissing(() => rootOf(hashesOf(edge), head.size));
  if (root === null || !note.root.equals(root)) {
    throw new LogDamaged(
      `The tiles of the transparency log of ${head.log} do not have the root that is signed for ${head.size} leaves. Nothing is ` +
        'appended until that is cleared up.',
    );
  }
}

/** Returns each tile once, in its newest form. */
function newest(tiles: readonly Tile[]): Tile[] {
  return [...new Map(tiles.map((tile) => [`${tile.level}/${tile.index}`, tile])).values()];
}

async function note(tx: Tx, log: LogName, values: Partial<Head>): Promise<void> {
  await tx
    .update(transparencyHeads)
    .set({ ...values, ...(values.checkpoint !== undefined && { updatedAt: sql`now()` }) })
    .where(eq(transparencyHeads.log, log));
}

async function keepOneADay(
  tx: Tx,
  { log, size, checkpoint }: { log: LogName; size: number; checkpoint: string },
): Promise<void> {
  await tx.execute(sql`INSERT INTO ${transparencyCheckpoints} (log, size, checkpoint, created_at)
    SELECT ${log}, ${size}, ${checkpoint}, now()
    WHERE coalesce((SELECT created_at FROM ${transparencyCheckpoints} WHERE log = ${log} ORDER BY size DESC LIMIT 1)
      <= now() - interval '1 day', true)
    ON CONFLICT DO NOTHING`);
}
