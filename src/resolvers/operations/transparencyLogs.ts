/**
 * transparencyLogs: the size of each log, as it is published. consistencyProof: proves that a log only grew
 * between two of its sizes.
 */
import { transparencyHeads, LOG_NAMES } from '../../db/tables/index.ts';
import { parseCheckpoint } from '../../transparency/checkpoint.ts';
import type { Needs } from '../core/dependencies.ts';
import { DomainError } from '../../lib/errors.ts';
import { readHead } from '../../transparency/inclusion.ts';
import { consistencyProof, tilesOfProof } from '../../transparency/merkle.ts';
import { readHashes } from '../../transparency/tiles.ts';

/** Logs that have not begun are left out; all have begun a second after the first start. */
export async function listTransparencyLogs({ db, logs }: Needs<'db' | 'logs'>) {
  const heads = await db.select().from(transparencyHeads).orderBy(transparencyHeads.log);
  return heads.map(({ log, size, root, checkpoint, updatedAt }) => {
    const origin = parseCheckpoint(checkpoint)?.origin ?? log;
    return {
      name: log,
      origin,
      treeSize: size,
      rootHash: Buffer.from(root).toString('hex'),
      checkpoint,
      verifierKey: logs.key.verifierKey(origin),
      updatedAt,
    };
  });
}

export type TransparencyLog = Awaited<ReturnType<typeof listTransparencyLogs>>[number];

export interface ConsistencyProof {
  treeSize: number;
  hashes: string[];
  /** Null when the newest head has another size. */
  checkpoint: string | null;
}

interface ConsistencyProofInput {
  log: string;
  fromTreeSize: number;
  /** All leaves when left out. */
  toTreeSize?: number | null | undefined;
}

/** @throws DomainError NOT_FOUND, BAD_USER_INPUT */
export async function proveConsistency(
  { db }: Needs<'db'>,
  { log: name, fromTreeSize: from, toTreeSize: to }: ConsistencyProofInput,
): Promise<ConsistencyProof> {
  const log = LOG_NAMES.find((known) => known === name);
  if (log === undefined) {
    throw new DomainError('NOT_FOUND', `There is no log "${name}": the logs are ${LOG_NAMES.join(', ')}.`, {
      field: 'log',
    });
  }
  const head = await readHead(db, log);
  const size = head?.size ?? 0;
  const until = to ?? size;
  if (from < 1 || from > until || until > size) {
    throw new DomainError(
      'BAD_USER_INPUT',
      `fromTreeSize is ${from} and toTreeSize ${until}: they must be from 1 to ${size}, the leaves of the log of ${log}, and the ` +
        'second must not be less than the first.',
      { field: from < 1 || from > size ? 'fromTreeSize' : 'toTreeSize', treeSize: size },
    );
  }
  const at = await readHashes(db, log, tilesOfProof(from - 1, until));
  const hashes = consistencyProof(at, from, until);
  return {
    treeSize: until,
    hashes: hashes.map((hash) => Buffer.from(hash).toString('hex')),
    checkpoint: until === size ? (head?.checkpoint ?? null) : null,
  };
}
