/**
 * Ties a database to one network and one custody signer: the books of one network never match the tokens of
 * another, so the server refuses to start on them.
 */
import type { Clock } from '../../lib/clock.ts';
import { isSameNetwork } from '../../lib/sameNetwork.ts';
import type { LedgerNetwork } from './port.ts';
import type { Db } from '../../db/connection.ts';
import { installation } from '../../db/tables/index.ts';

/** The database belongs to another network or signer. The message is for the operator. */
export class WrongInstallation extends Error {
  override readonly name = 'WrongInstallation';
}

type NetworkIdentity = Pick<LedgerNetwork, 'name' | 'networkId' | 'custodyAddress'>;

/** @throws WrongInstallation */
export async function claimInstallation(db: Db, network: NetworkIdentity, clock: Clock): Promise<void> {
  const { name: networkName, networkId, custodyAddress } = network;
  await db
    .insert(installation)
    .values({ networkName, networkId, custodyAddress, createdAt: clock.now() })
    .onConflictDoNothing();
  await checkInstallation(db, network);
}

/**
 * @returns whether the database belongs to this network already; false when no network has claimed it
 * @throws WrongInstallation when it belongs to another one
 */
export async function checkInstallation(db: Db, network: NetworkIdentity): Promise<boolean> {
  const { name: networkName, networkId, custodyAddress } = network;
  const [row] = await db.select().from(installation);
  if (row && !(isSameNetwork(row.networkId, networkId) && row.custodyAddress === custodyAddress)) {
    throw new WrongInstallation(
      `This database belongs to network "${row.networkName}" (${row.networkId}) with custody signer ` +
        `${row.custodyAddress}, but the configuration names "${networkName}" (${networkId}) with ${custodyAddress}. ` +
        'Point DATABASE_URL to another database, or LEDGER_NETWORK and LEDGER_SECRET_KEY back to the first ones.',
    );
  }
  return row !== undefined;
}
