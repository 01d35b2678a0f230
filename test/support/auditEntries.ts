/**
 * Writes entries of the audit log without a request.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Db } from '../../src/db/connection.ts';
import { createAuditLog } from '../../src/identity/auditLog.ts';
import { createIdSource, systemClock, type Clock } from '../../src/lib/clock.ts';
import { silentLog } from '../../devnet/platform.ts';

/** @param processes number of entries of each process */
export async function writeAuditEntries(
  db: Db,
  processes: readonly number[],
  clock: Clock = systemClock,
): Promise<void> {
  const ids = createIdSource(systemClock, randomBytes);
  for (const entries of processes) {
    const trail = createAuditLog({ db, clock, ids, log: silentLog });
    for (let i = 0; i < entries; i++) {
      const entry = trail.open({
        requestId: randomUUID(),
        caller: null,
        remoteAddress: '127.0.0.1',
        field: 'purchase',
        targetIds: [],
      });
      await entry.begin();
      await entry.end({ outcome: 'OK', targetIds: [] });
    }
    await trail.stop();
  }
}
