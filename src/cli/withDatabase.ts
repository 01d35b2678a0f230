/**
 * Opens the configured database for a command line tool, and always closes it.
 */
import { loadConfig, type Config } from '../config/config.ts';
import type { DatabaseHandle } from '../db/connection.ts';
import { openConfiguredDatabase } from '../startup/openDatabase.ts';

export async function withDatabase(
  work: (handle: DatabaseHandle, config: Config) => Promise<void>,
): Promise<void> {
  const config = await loadConfig();
  const database = await openConfiguredDatabase(config);
  try {
    await work(database.handle, config);
  } finally {
    await database.stop();
  }
}
