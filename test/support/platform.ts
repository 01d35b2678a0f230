/**
 * The platform without its HTTP server: use cases and workers on a test database and the embedded network.
 */
import { randomBytes } from 'node:crypto';
import { systemClock } from '../../src/lib/clock.ts';
import { composePlatform, openLogs, type ComposeOptions, type Platform } from '../../src/startup/compose.ts';
import type { DatabaseHandle } from '../../src/db/connection.ts';
import { createEmbeddedNetwork, type EmbeddedNetwork } from './embeddedNetwork.ts';
import { custodySecretKey, silentLog, warehouseOptions } from '../../devnet/platform.ts';
import { createTestDatabase, type TestDatabase } from './database/database.ts';

export function embeddedNetworkOn(handle: DatabaseHandle): Promise<EmbeddedNetwork> {
  return createEmbeddedNetwork({
    handle,
    secretKey: custodySecretKey,
    clock: systemClock,
    randomBytes,
  });
}

// Nothing listens at this address, because tests of the indexer start their own.
const NOWHERE = 'http://127.0.0.1:9';
const OF_LOGS = { publicUrl: NOWHERE, appSecret: 'an application secret for tests alone' };

/**
 * The transparency logs of `platformOn`, for a test that restores the database: the platform's own logs
 * remember what they have signed.
 */
export const logsAnewOn = (handle: DatabaseHandle, network: ComposeOptions['network']) =>
  openLogs({ handle, network, ...OF_LOGS });

export function platformOn(
  handle: DatabaseHandle,
  network: ComposeOptions['network'],
  overrides: Partial<ComposeOptions> = {},
): Promise<Platform> {
  return composePlatform({
    handle,
    network,
    indexerUrl: NOWHERE,
    ...OF_LOGS,
    mutationWaitMs: 20_000,
    // Longer than any test, so that only the tested code fills feeds.
    feedCompareIntervalMs: 600_000,
    ...warehouseOptions,
    log: silentLog,
    ...overrides,
  });
}

export interface StartedPlatform {
  database: TestDatabase;
  network: EmbeddedNetwork;
  platform: Platform;
  /** Stops the platform and drops the database. */
  end(): Promise<void>;
}

/** Starts a platform with its workers, on the embedded network and a new database. */
export async function startPlatform(): Promise<StartedPlatform> {
  const started = await idlePlatform();
  await started.platform.start();
  return started;
}

/** The same, without the workers. */
export async function idlePlatform(): Promise<StartedPlatform> {
  const database = await createTestDatabase();
  const network = await embeddedNetworkOn(database.handle);
  const platform = await platformOn(database.handle, network);
  return {
    database,
    network,
    platform,
    async end() {
      await platform.stop();
      await database.drop();
    },
  };
}
