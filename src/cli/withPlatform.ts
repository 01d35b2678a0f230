/**
 * The configured platform for a command line tool: opened, handed over, and closed whatever happens.
 */
import { composePlatform, type Platform } from '../compose.ts';
import { loadConfig } from '../config.ts';
import { createLogger } from '../logger.ts';
import { openConfiguredDatabase } from '../openDatabase.ts';
import { openConfiguredNetwork } from '../openNetwork.ts';
import { warehouseOptionsOf } from '../warehouseOptions.ts';

/** Background work is not started: a tool starts what it needs. */
export async function withPlatform(work: (platform: Platform) => Promise<void>): Promise<void> {
  const config = await loadConfig();
  const database = await openConfiguredDatabase(config);
  try {
    const network = await openConfiguredNetwork(config, database.handle);
    const platform = await composePlatform({
      handle: database.handle,
      network,
      // Tools register nothing and wait for nothing.
      indexerUrl: config.INDEXER_URL ?? config.PUBLIC_URL,
      publicUrl: config.PUBLIC_URL,
      appSecret: config.APP_SECRET,
      ...warehouseOptionsOf(config),
      mutationWaitMs: 0,
      healIntervalMs: config.HEAL_INTERVAL_MS,
      log: createLogger({ level: 'error', pretty: true }),
    });
    try {
      await work(platform);
    } finally {
      await platform.stop();
    }
  } finally {
    await database.stop();
  }
}
