/**
 * Starts a platform on a new database and an embedded network, with faults between platform and network.
 */
import { createTestDatabase } from '../database/database.ts';
import { embeddedNetworkOn, platformOn } from '../platform.ts';
import { withFaults, type FaultPlan } from './faultyNetwork.ts';

export async function startFaultyPlatform(faults: FaultPlan) {
  const database = await createTestDatabase();
  const network = await embeddedNetworkOn(database.handle);
  const platform = await platformOn(database.handle, withFaults(network, faults));
  await platform.start();
  return { database, network, platform };
}
