/**
 * The public part of the logs, by paths below /logs/, as in c2sp.org/tlog-tiles:
 *
 *   <log>/checkpoint                              the signed head
 *   <log>/key                                     its verifier key, in the format of signed notes
 *   <log>/tile/<level>/<index>[.p/<width>]        hashes
 *   retirements/tile/entries/<index>[.p/<width>]  the entries behind the hashes of level 0
 *   retirements/proof/<leaf>                      the proof that a leaf is in the log (c2sp.org/tlog-proof)
 *
 * The entries of the other logs are not published: their hashes say nothing about them.
 */
import type { Db } from '../db/connection.ts';
import { LOG_NAMES } from '../db/tables/index.ts';
import { parseCheckpoint, type LogKey } from './checkpoint.ts';
import { proveRecords, readEntries, readHead } from './inclusion.ts';
import type { LogName } from './leaves.ts';
import type { TransparencyLogs } from './logs.ts';
import { HASH_BYTES, TILE_WIDTH } from './merkle.ts';
import { readTiles } from './tiles.ts';

interface Published {
  body: string | Buffer;
  contentType: string;
  /** How long others may keep the answer. */
  keptSeconds: number;
}

/** The logs are a few seconds behind in any case. */
const HEAD_KEPT_SECONDS = 2;
/**
 * The tiles of one log never change. But a log with a new name, which has lost or changed its past, has other
 * tiles at the same addresses: caches that kept the old ones for ever would give its readers proofs that
 * fail.
 */
const PARTIAL_TILE_KEPT_SECONDS = 60;
const FULL_TILE_KEPT_SECONDS = 24 * 60 * 60;

/** Answers a path below /logs/; null when nothing is there. */
type ReadPublished = (path: string) => Promise<Published | null>;

const LOG_PATH = new RegExp(`^(${LOG_NAMES.join('|')})/(.+)$`);
/** Indexes are in groups of three digits, all but the last one marked: x001/x234/067. A width is at most 255. */
const TILE_PATH =
  /^tile\/(entries|[0-6])\/((?:x\d{3}\/){0,4}\d{3})(?:\.p\/([1-9]\d?|1\d\d|2[0-4]\d|25[0-5]))?$/;
const PROOF_PATH = /^proof\/(0|[1-9]\d{0,14})$/;

export function createPublishedLogs({
  db,
  logs,
}: {
  db: Db;
  logs: Pick<TransparencyLogs, 'key' | 'shown'>;
}): ReadPublished {
  return async (path) => {
    const [, name, rest = ''] = LOG_PATH.exec(path) ?? [];
    const log = LOG_NAMES.find((known) => known === name);
    if (log === undefined) return null;
    if (rest === 'checkpoint') {
      const checkpoint = (await readHead(db, log))?.checkpoint;
      if (checkpoint !== undefined) logs.shown.note(checkpoint);
      return texted(checkpoint);
    }
    if (rest === 'key') return texted(await verifierKeyOf(db, log, logs.key));
    const [, leaf] = PROOF_PATH.exec(rest) ?? [];
    if (leaf !== undefined && log === 'retirements') return texted(await proofOf(db, Number(leaf)));
    const tile = readTilePath(rest);
    if (tile === null) return null;
    if (tile.level !== 'entries') {
      return tileOrNull(tile, await hashesIn(db, log, { ...tile, level: tile.level }));
    }
    return log === 'retirements' ? tileOrNull(tile, await entriesIn(db, tile)) : null;
  };
}

interface TilePath {
  level: number | 'entries';
  index: number;
  width: number;
}

function readTilePath(path: string): TilePath | null {
  const [, level, groups, width = String(TILE_WIDTH)] = TILE_PATH.exec(path) ?? [];
  if (level === undefined || groups === undefined) return null;
  const index = Number(groups.replaceAll(/[x/]/g, ''));
  // One address for one tile, so that it is cached once.
  if (tileIndexPath(index) !== groups) return null;
  return { level: level === 'entries' ? 'entries' : Number(level), index, width: Number(width) };
}

function tileIndexPath(index: number): string {
  const digits = String(index);
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/\d{3}/g) ?? [];
  return groups.map((group, place) => (place === groups.length - 1 ? group : `x${group}`)).join('/');
}

async function hashesIn(db: Db, log: LogName, tile: TilePath & { level: number }): Promise<Buffer | null> {
  const [found] = await readTiles(db, log, [tile]);
  if (found === undefined || found.hashes.length < tile.width * HASH_BYTES) return null;
  return found.hashes.subarray(0, tile.width * HASH_BYTES);
}

/** The leaves' data, each behind its length in two bytes. */
async function entriesIn(db: Db, { index, width }: TilePath): Promise<Buffer | null> {
  const head = await readHead(db, 'retirements');
  const first = index * TILE_WIDTH;
  if (head === null || first + width > head.size) return null;
  const indexes = Array.from({ length: width }, (_, place) => first + place);
  const entries = await readEntries(db, indexes);
  // A record that the owner of the database has removed must not be published as an empty one.
  if (entries.size !== width) return null;
  return Buffer.concat(
    indexes.flatMap((leafIndex) => {
      const bytes = Buffer.from(entries.get(leafIndex) ?? '');
      const length = Buffer.alloc(2);
      length.writeUInt16BE(bytes.length);
      return [length, bytes];
    }),
  );
}

async function proofOf(db: Db, leaf: number): Promise<string | undefined> {
  const proof = (await proveRecords({ db }, [leaf])).get(leaf);
  if (proof === undefined) return undefined;
  const hashes = proof.hashes.map((hash) => hash.toString('base64'));
  return `${['c2sp.org/tlog-proof@v1', `index ${leaf}`, ...hashes].join('\n')}\n\n${proof.checkpoint}`;
}

/** Returns the key under the log's present name. */
async function verifierKeyOf(db: Pick<Db, 'select'>, log: LogName, key: LogKey): Promise<string | undefined> {
  const head = await readHead(db, log);
  const origin = head && parseCheckpoint(head.checkpoint)?.origin;
  return origin ? `${key.verifierKey(origin)}\n` : undefined;
}

function texted(text: string | undefined): Published | null {
  if (text === undefined) return null;
  return { body: text, contentType: 'text/plain; charset=utf-8', keptSeconds: HEAD_KEPT_SECONDS };
}

function tileOrNull({ width }: TilePath, bytes: Buffer | null): Published | null {
  const keptSeconds = width === TILE_WIDTH ? FULL_TILE_KEPT_SECONDS : PARTIAL_TILE_KEPT_SECONDS;
  return bytes && { body: bytes, contentType: 'application/octet-stream', keptSeconds };
}
