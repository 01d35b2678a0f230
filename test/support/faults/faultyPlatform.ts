/**
 * A started platform on a database and an embedded network of its own, between which faults can be put.
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
