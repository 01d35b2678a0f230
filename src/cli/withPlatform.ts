/**
 * Opens the configured platform for a command line tool, and always closes it.
 */
import { composePlatform, type Platform } from '../startup/compose.ts';
import { composeOptionsOf } from '../startup/composeOptions.ts';
import { createLogger } from '../lib/logger.ts';
import { openConfiguredNetwork } from '../startup/openNetwork.ts';
import { withDatabase } from './withDatabase.ts';

/**
 * Starts no background work: each tool starts what it needs.
 * @param options.signs without it, the tool is no instance at work: on a copy that it compares, the wait
 *   before the first signature still begins with the server's start
 */
export function withPlatform(
  work: (platform: Platform) => Promise<void>,
  { signs = false }: { signs?: boolean } = {},
): Promise<void> {
  return withDatabase(async (handle, config) => {
    const log = createLogger({ level: 'error', pretty: true });
    const { network, clockControl } = await openConfiguredNetwork(config, handle, log, {
      isReadOnly: !signs,
    });
    const platform = await composePlatform({
      handle,
      network,
      clockControl,
      indexerUrl: config.INDEXER_URL ?? null,
      indexerToken: config.INDEXER_TOKEN,
      ...composeOptionsOf(config),
      // Tools do not wait for mutations.
      mutationWaitMs: 0,
      log,
    });
    try {
      await work(platform);
    } finally {
      await platform.stop();
    }
  });
}
