/**
 * Waits until the transparency logs contain all committed rows. A transaction that is open in any database of
 * the cluster, such as that of a concurrent test, holds the log of transfers up until it ends.
 */
import { vi } from 'vitest';
import type { TransparencyLogs } from '../../../src/transparency/logs.ts';

/** Only a hang takes this long. */
const PATIENCE_MS = 30_000;

export async function logAll(logs: TransparencyLogs): Promise<void> {
  const isWhole = async () => {
    await logs.catchUp();
    return (await logs.findBehind()).length === 0;
  };
  await vi.waitUntil(isWhole, { timeout: PATIENCE_MS, interval: 50 });
}
