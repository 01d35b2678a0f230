/**
 * The embedded indexer: watches the embedded network, with the REST interface and deliveries of a real one.
 *
 * It listens on loopback only, and answers only the server that runs it, because the token exists only in the
 * memory of that process. Every instance of the server runs one; they share registrations and claims through
 * the database.
 */
import { sql } from 'drizzle-orm';
import type { Clock } from '../../lib/clock.ts';
import type { DatabaseHandle } from '../../db/connection.ts';
import { EVENTS_CHANNEL } from '../../ledger/network/embedded/landing.ts';
import { claimDeliveries } from './eventLog.ts';
import { hex } from './hex.ts';
import { addRegistration, listRegistrations, removeRegistration } from './registrations.ts';
import { serveIndexer } from './serveIndexer.ts';
import type { IndexerOptions, RunningIndexer } from './serveIndexer.ts';

export interface EmbeddedIndexerOptions extends Omit<IndexerOptions, 'store' | 'onNews' | 'token'> {
  handle: Pick<DatabaseHandle, 'db' | 'listen'>;
  clock: Clock;
}

export interface EmbeddedIndexer extends RunningIndexer {
  /** The token for `createIndexerClient`. */
  token: string;
}

const TOKEN_BYTES = 32;

export async function startEmbeddedIndexer(options: EmbeddedIndexerOptions): Promise<EmbeddedIndexer> {
  const { handle, clock, ...rest } = options;
  const { db } = handle;
  const token = hex(rest.randomBytes(TOKEN_BYTES));
  const running = await serveIndexer({
    ...rest,
    token,
    onNews: (wake) => handle.listen(EVENTS_CHANNEL, wake, wake),
    store: {
      addRegistration: (wanted) => addRegistration({ db, clock, randomBytes: rest.randomBytes }, wanted),
      listRegistrations: () => listRegistrations(db),
      removeRegistration: (id) => removeRegistration(db, id),
      claimDeliveries: (maxEvents) => claimDeliveries(db, maxEvents),
      check: async () => void (await db.execute(sql`SELECT 1`)),
    },
  });
  return { ...running, token };
}
