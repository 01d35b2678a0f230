/**
 * The ledgers on which tests run the product, as plain values, so that another process can join the same
 * ledger.
 */
import type { DatabaseHandle } from '../src/db/connection.ts';
import { familyOf, type LedgerConfig } from '../src/ledger/network/families.ts';
import type { LedgerNetwork } from '../src/ledger/network/port.ts';
import { openSeenLedgers } from '../src/ledger/network/seenLedgers.ts';
import { custodySecretKey, silentLog } from './platform.ts';

/** The embedded network is in the platform's own database. */
export const embeddedLedger: LedgerConfig = { family: 'embedded', secretKey: custodySecretKey };

/** Opens an adapter, as each instance of the product has one. */
export async function connectLedger(ledger: LedgerConfig, handle: DatabaseHandle): Promise<LedgerNetwork> {
  const seenLedgers = () => openSeenLedgers({ db: handle.db, log: silentLog });
  return (await familyOf(ledger).create(ledger, { handle, seenLedgers, log: silentLog })).network;
}
