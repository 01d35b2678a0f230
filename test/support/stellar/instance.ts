/**
 * Instances on a Stellar network and a database that outlives them.
 */
import { connectLedger } from '../../../devnet/ledgers.ts';
import { openDatabase } from '../../../src/db/connection.ts';
import type { StellarLedger } from '../../../src/ledger/network/stellar/settings.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { platformOn } from '../platform.ts';

/** Runs an instance for as long as `work` takes. */
export async function withInstance<T>(
  databaseUrl: string,
  ledger: StellarLedger,
  work: (platform: Platform) => Promise<T>,
): Promise<T> {
  const handle = openDatabase({ url: databaseUrl, poolSize: 5, applicationName: 'an instance' });
  const platform = await platformOn(handle, await connectLedger(ledger, handle));
  await platform.start();
  try {
    return await work(platform);
  } finally {
    await platform.stop();
    await handle.close();
  }
}
