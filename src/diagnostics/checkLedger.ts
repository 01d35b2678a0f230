/**
 * Checks everything that running on the configured ledger network needs, and changes nothing there. Yields a
 * line for each check, in an order in which a failed check explains the following failures.
 */
import type { Config } from '../config/config.ts';
import { messageOf } from '../lib/errors.ts';
import { hasTable } from './hasTable.ts';
import { pass, fail, type Check } from '../ledger/network/check.ts';
import { familyOf } from '../ledger/network/families.ts';
import type { CreatedNetwork } from '../ledger/network/family.ts';
import { openSeenLedgers, seenLedgersInMemory, type SeenLedgers } from '../ledger/network/seenLedgers.ts';
import type { Logger } from '../lib/logger.ts';
import { openConfiguredDatabase, type ConfiguredDatabase } from '../startup/openDatabase.ts';
import { explainStartupError } from '../startup/explainStartupError.ts';
import { checkDatabase } from './checkDatabase.ts';
import { checkIndexer } from './checkIndexer.ts';
import { checkNetwork } from './checkNetwork.ts';

/** The opened resource, or why it failed: the other checks go on. */
type Opening<T> = { opened: T } | { failed: string };

/** Yields failures instead of throwing them. */
export async function* checkLedger(config: Config, log: Logger): AsyncGenerator<Check> {
  const database = await attempt(() => openDatabaseToCheck(config));
  try {
    const network = await attempt(() => createNetworkToCheck(config, database, log));
    if ('opened' in network) yield* checkNetwork(config, network.opened);
    else yield fail('network', network.failed);

    if ('failed' in database) {
      yield fail('database', database.failed);
    } else {
      yield pass('database', database.opened.description);
      if ('opened' in network) yield* checkDatabase(database.opened.handle.db, network.opened.network);
    }
    yield* checkIndexer(config, 'opened' in database ? database.opened.handle.db : null);
  } finally {
    if ('opened' in database) await database.opened.stop();
  }
}

/** The schema stays as it is, unless the network lives in it and needs the newest one. */
function openDatabaseToCheck(config: Config): Promise<ConfiguredDatabase> {
  const livesInDatabase = familyOf(config.ledger).migrations.length > 0;
  return openConfiguredDatabase(config, { olderSchema: livesInDatabase ? 'require' : 'leave' });
}

async function createNetworkToCheck(
  config: Config,
  database: Opening<ConfiguredDatabase>,
  log: Logger,
): Promise<CreatedNetwork> {
  const { ledger } = config;
  return familyOf(ledger).create(ledger, {
    handle: 'opened' in database ? database.opened.handle : null,
    seenLedgers: () => seenLedgersOf(database, log),
    log,
  });
}

/** A new database, or one of an earlier version, has no known ledgers. */
async function seenLedgersOf(database: Opening<ConfiguredDatabase>, log: Logger): Promise<SeenLedgers> {
  if ('failed' in database) return seenLedgersInMemory();
  const { db } = database.opened.handle;
  return (await hasTable(db, 'final_ledger'))
    ? openSeenLedgers({ db, log, isReadOnly: true })
    : seenLedgersInMemory();
}

async function attempt<T>(open: () => Promise<T>): Promise<Opening<T>> {
  try {
    return { opened: await open() };
  } catch (error) {
    return { failed: explainStartupError(error) ?? messageOf(error) };
  }
}
