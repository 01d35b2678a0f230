/**
 * Lets the transparency logs take all that is committed. A transaction that is open in any database of the cluster, such as that of
 * a test beside this one, holds the log of transfers up until it ends.
 */
import { vi } from 'vitest';
import type { TransparencyLogs } from '../../../src/transparency/logs.ts';

/** For hangs only. */
const PATIENCE_MS = 30_000;

export async function logAll(logs: TransparencyLogs): Promise<void> {
  const isWhole = async () => {
    await logs.catchUp();
    return (await logs.findBehind()).length === 0;
  };
  await vi.waitUntil(isWhole, { timeout: PATIENCE_MS, interval: 50 });
}
