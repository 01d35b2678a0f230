/**
 * Ledgers that tests run the product on: described by plain values, so that another process can join the same one.
 */
import { randomBytes } from 'node:crypto';
import { systemClock } from '../../src/clock.ts';
import type { DatabaseHandle } from '../../src/db/connection.ts';
import { createEmbeddedNetwork } from '../../src/ledger/network/embedded/embeddedNetwork.ts';
import type { LedgerNetwork } from '../../src/ledger/network/port.ts';
import type { EvmLedger, StellarLedger } from '../../src/ledgerConfig.ts';
import { createRealNetwork } from '../../src/openNetwork.ts';
import { custodySecretKey, silentLog } from './platform.ts';

/** The embedded network lies in the database of the platform itself. */
export type TestLedger = { family: 'embedded'; secretKey: string } | EvmLedger | StellarLedger;

export const embeddedLedger: TestLedger = { family: 'embedded', secretKey: custodySecretKey };

/** An adapter as each instance of the product has one. */
export async function connectLedger(ledger: TestLedger, handle: DatabaseHandle): Promise<LedgerNetwork> {
  if (ledger.family !== 'embedded') return (await createRealNetwork(ledger, silentLog)).network;
  const { secretKey } = ledger;
  return createEmbeddedNetwork({ handle, secretKey, clock: systemClock, randomBytes });
}
