/**
 * Opens the configured ledger network, and checks that the node serves it.
 */
import type { Config } from '../config/config.ts';
import type { DatabaseHandle } from '../db/connection.ts';
import { messageOf } from '../lib/errors.ts';
import { checkInstallation } from '../ledger/network/claimInstallation.ts';
import { familyOf } from '../ledger/network/families.ts';
import type { CreatedNetwork } from '../ledger/network/family.ts';
import { askOnlyOwnNode, WrongNetwork, type CheckIdentity } from '../ledger/network/nodeIdentity.ts';
import type { LedgerNetwork } from '../ledger/network/port.ts';
import { openSeenLedgers } from '../ledger/network/seenLedgers.ts';
import type { Logger } from '../lib/logger.ts';
import { StartupError } from '../lib/startupErrors.ts';

type OpenedNetwork = Pick<CreatedNetwork, 'network' | 'clockControl'>;

/**
 * After the first start, an unavailable node does not keep the server from starting: the books can be read,
 * and work under way continues when the node is back.
 * @throws WrongNetwork; StartupError when the treasury is not the address that the custody signer burns from
 */
export async function openConfiguredNetwork(
  config: Pick<Config, 'ledger' | 'TREASURY_ADDRESS' | 'NODE_ENV'>,
  handle: DatabaseHandle,
  log: Logger,
  { isReadOnly = false }: { isReadOnly?: boolean } = {},
): Promise<OpenedNetwork> {
  const created = await familyOf(config.ledger).create(config.ledger, {
    handle,
    seenLedgers: () => openSeenLedgers({ db: handle.db, log, isReadOnly }),
    log,
  });
  const { network, checkIdentity } = created;
  // Time can't go back: in production, one request of an operator would expire every receipt, and date all
  // retirements years ahead.
  const clockControl = config.NODE_ENV === 'production' ? undefined : created.clockControl;
  refuseForeignTreasury(network, config.TREASURY_ADDRESS);
  if (checkIdentity === null) return { network, clockControl };
  await lookAtNode({ ...created, checkIdentity }, handle, log);
  return { network: askOnlyOwnNode(network, checkIdentity, () => performance.now()), clockControl };
}

/**
 * @throws WrongNetwork; StartupError when the node is unavailable, or does not show its whole id, before it
 *   was ever seen
 */
async function lookAtNode(
  { network, idProblem, checkIdentity }: CreatedNetwork & { checkIdentity: CheckIdentity },
  handle: DatabaseHandle,
  log: Logger,
): Promise<void> {
  try {
    await checkIdentity();
  } catch (err) {
    if (err instanceof WrongNetwork) throw err;
    if (!(await checkInstallation(handle.db, network))) throw neverSeen(err);
    log.warn({ err }, 'the ledger network does not answer; the server starts without it');
  }
  if (idProblem !== undefined && !(await checkInstallation(handle.db, network))) throw neverSeen(idProblem);
}

/** A database is tied to its network for ever, so not to one that may be named by mistake. */
function neverSeen(error: unknown): StartupError {
  return new StartupError(
    `${messageOf(error)}. The first start ties the database to its network, and has to see it: correct ` +
      'LEDGER_RPC_URL, or wait for the node.',
    { cause: error },
  );
}

/** Retiring burns the signer's own balance: credits that were minted elsewhere could never be retired. */
export function refuseForeignTreasury(
  network: Pick<LedgerNetwork, 'custodyAddress' | 'normalizeAddress'>,
  treasuryAddress: string | undefined,
): void {
  if (treasuryAddress === undefined) return;
  if (network.normalizeAddress(treasuryAddress) === network.custodyAddress) return;
  throw new StartupError(
    `TREASURY_ADDRESS is ${treasuryAddress}, but the custody signer of LEDGER_SECRET_KEY burns from ` +
      `${network.custodyAddress} alone. Set TREASURY_ADDRESS to that address, or leave it out.`,
  );
}
