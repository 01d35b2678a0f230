/**
 * Checks whether the indexer answers, and delivers to this platform. Without deliveries nothing is lost: the
 * feed only learns later of other accounts' retirements.
 */
import type { Config } from '../config/config.ts';
import type { Db } from '../db/connection.ts';
import { hasTable } from './hasTable.ts';
import { retirementsHookUrlOf } from '../lib/hookUrls.ts';
import { createIndexerClient, type IndexerClient } from '../indexer/client.ts';
import { runCheck, pass, warn, fail, type Check } from '../ledger/network/check.ts';
import { familyOf } from '../ledger/network/families.ts';
import { hasEmbeddedIndexer } from '../ledger/network/family.ts';
import { leadsToThisMachine } from '../lib/hosts.ts';
import { findLiveRegistration } from '../resolvers/operations/watchRetirements.ts';

const TIMEOUT_MS = 10_000;
const CALL_WATCH = 'Call the mutation watchRetirements.';
const WAIT_OR_CALL = `A running server registers again within two minutes. ${CALL_WATCH}`;

/** `db` is null when it could not be opened. */
export async function* checkIndexer(config: Config, db: Db | null): AsyncGenerator<Check> {
  const url = config.INDEXER_URL;
  if (url === undefined) {
    yield withoutIndexer(config);
    return;
  }
  const indexer = createIndexerClient({ url, token: config.INDEXER_TOKEN, fetch, timeoutMs: TIMEOUT_MS });
  const answers = await runCheck('indexer', () => checkHealth(indexer, url));
  yield answers;
  yield checkReachable(config, url);
  if (answers.result !== 'fail' && db !== null) {
    yield await runCheck('registration', () => checkRegistration(config, indexer, db));
  }
}

function withoutIndexer({ ledger, FEED_COMPARE_INTERVAL_MS }: Config): Check {
  return hasEmbeddedIndexer(familyOf(ledger))
    ? pass('indexer', 'the embedded one: it runs inside the server, which registers with it by itself')
    : warn(
        'indexer',
        `none: the feed looks for what others retire every ${FEED_COMPARE_INTERVAL_MS / 1000} s`,
        'Set INDEXER_URL to an indexer that follows this network, for a feed without that delay.',
      );
}

async function checkHealth(indexer: IndexerClient, url: string): Promise<Check> {
  const { host } = new URL(url);
  const { ok } = await indexer.health();
  return ok
    ? pass('indexer', `${host} answers`)
    : fail('indexer', `${host} says that it is not well`, 'See the indexer’s own logs.');
}

function checkReachable({ PUBLIC_URL }: Config, indexerUrl: string): Check {
  const hook = retirementsHookUrlOf(PUBLIC_URL);
  return leadsToThisMachine(PUBLIC_URL) && !leadsToThisMachine(indexerUrl)
    ? warn(
        'deliveries',
        `are asked for to ${hook}, which the indexer can’t reach from elsewhere`,
        'Set PUBLIC_URL to the address that this server has for others.',
      )
    : pass('deliveries', `go to ${hook}`);
}

/** The indexer's list and the database have to agree. */
async function checkRegistration(config: Config, indexer: IndexerClient, db: Db): Promise<Check> {
  const hook = retirementsHookUrlOf(config.PUBLIC_URL);
  const listed = await indexer.listWebhooks();
  const live = (await hasTable(db, 'indexer_registrations')) ? await findLiveRegistration(db) : null;
  if (live === null) return warn('registration', 'none: nothing is delivered', CALL_WATCH);
  if (live.url !== hook) {
    return warn('registration', `is for ${live.url}, but PUBLIC_URL makes it ${hook}`, CALL_WATCH);
  }
  const others = listed.filter(({ id, url }) => id !== live.webhookId && url === hook).length;
  if (!listed.some(({ id }) => id === live.webhookId)) {
    return warn('registration', `${live.webhookId} is unknown to the indexer`, WAIT_OR_CALL);
  }
  return others === 0
    ? pass('registration', `${live.webhookId}, known to the indexer and to the database`)
    : warn('registration', `${others} more at the indexer than this platform knows of`, CALL_WATCH);
}
