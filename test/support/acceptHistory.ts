/**
 * Accepts the network's present history, as the end of a halt does.
 */
import type { Db } from '../../src/db/connection.ts';
import type { LedgerNetwork } from '../../src/ledger/network/port.ts';
import { acceptLedger } from '../../src/ledger/network/seenLedgers.ts';

export async function acceptHistory(db: Db, network: LedgerNetwork): Promise<void> {
  const present = await network.presentHistory();
  if (present === null) throw new Error(`${network.name} has one history only`);
  await acceptLedger(db, present);
}
