/**
 * transparencyLogs: the size of each log, as it is published.
 */
import { transparencyHeads } from '../../db/tables/index.ts';
import { parseCheckpoint } from '../../transparency/checkpoint.ts';
import type { Needs } from '../core/dependencies.ts';

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
