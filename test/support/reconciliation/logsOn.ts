/**
 * Opens the transparency logs of a database, as one process has them, without a platform.
 */
import type { Db } from '../../../src/db/connection.ts';
import {
  createTransparencyLogs,
  type OriginSettings,
  type TransparencyLogs,
} from '../../../src/transparency/logs.ts';

const SEED = Buffer.alloc(32, 7);

export function logsOn(db: Db, origin: OriginSettings = { first: 'api.example/logs' }): TransparencyLogs {
  return createTransparencyLogs({ db, seed: SEED, origin, networkId: 'embedded' });
}
