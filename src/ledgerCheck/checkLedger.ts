/**
 * Looks at everything that running on the configured ledger network needs, and changes nothing there: a line for
 * each thing, in an order in which what is wrong explains what comes after it.
 */
import type { Config } from '../config.ts';
import { messageOf } from '../errors.ts';
import { right, wrong, type Check } from '../ledger/network/check.ts';
import type { Logger } from '../logger.ts';
import { openConfiguredDatabase, type ConfiguredDatabase } from '../openDatabase.ts';
import { createConfiguredNetwork, createRealNetwork, type CreatedNetwork } from '../openNetwork.ts';
import { explainStartupError } from '../startupErrors.ts';
import { checkDatabase } from './checkDatabase.ts';
import { checkIndexer } from './checkIndexer.ts';
import { checkNetwork } from './checkNetwork.ts';

/** What was opened, or why not: the rest goes on without it. */
type Opening<T> = { opened: T } | { failed: string };

/** Never throws for what it finds. */
export async function* checkLedger(config: Config, log: Logger): AsyncGenerator<Check> {
  const database = await attempt(() => openDatabaseToLook(config));
  try {
    const network = await attempt(() => createNetworkToLook(config, database, log));
    if ('opened' in network) yield* checkNetwork(config, network.opened);
    else yield wrong('network', network.failed);

    if ('failed' in database) {
      yield wrong('database', database.failed);
    } else {
      yield right('database', database.opened.description);
      if ('opened' in network) yield* checkDatabase(database.opened.handle.db, network.opened.network);
    }
    yield* checkIndexer(config, 'opened' in database ? database.opened.handle.db : null);
  } finally {
    if ('opened' in database) await database.opened.stop();
  }
}

/** A real network's database is left as it is; the embedded network lives in it, so it has to be up to date. */
function openDatabaseToLook(config: Config): Promise<ConfiguredDatabase> {
  return openConfiguredDatabase(config, { asItIs: config.ledger.family !== 'embedded' });
}

function createNetworkToLook(
  config: Config,
  database: Opening<ConfiguredDatabase>,
  log: Logger,
): Promise<CreatedNetwork> {
  const { ledger } = config;
  if (ledger.family !== 'embedded') return createRealNetwork(ledger, log);
  if ('failed' in database) throw new Error('it lives in the database, which can’t be opened');
  return createConfiguredNetwork(config, database.opened.handle, log);
}

async function attempt<T>(open: () => Promise<T>): Promise<Opening<T>> {
  try {
    return { opened: await open() };
  } catch (error) {
    return { failed: explainStartupError(error) ?? messageOf(error) };
  }
}
