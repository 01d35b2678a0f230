/**
 * The configured ledger network: made of its settings, and checked to be the one that they name.
 */
import { randomBytes } from 'node:crypto';
import { systemClock } from './clock.ts';
import type { Config } from './config.ts';
import type { DatabaseHandle } from './db/connection.ts';
import { messageOf } from './errors.ts';
import { checkInstallation } from './ledger/network/claimInstallation.ts';
import type { ClockControl } from './ledger/network/clockControl.ts';
import { createEmbeddedNetwork } from './ledger/network/embedded/embeddedNetwork.ts';
import {
  askOnlyOwnNode,
  evmIdentityCheck,
  stellarIdentityCheck,
  WrongNetwork,
  type CheckIdentity,
} from './ledger/network/nodeIdentity.ts';
import type { LedgerNetwork } from './ledger/network/port.ts';
import type { EvmLedger, StellarLedger } from './ledgerConfig.ts';
import type { Logger } from './logger.ts';
import { StartupError } from './startupErrors.ts';

export interface OpenedNetwork {
  network: LedgerNetwork;
  /** Of the embedded network; undefined on a real one. */
  clockControl: ClockControl | undefined;
}

/**
 * After the first start, a node that is away does not keep the server from starting: the books can be read, and
 * what was begun goes on when it is back.
 * @throws WrongNetwork; StartupError when the treasury is not what the custody signer can burn from
 */
export async function openConfiguredNetwork(
  config: Config,
  handle: DatabaseHandle,
  log: Logger,
): Promise<OpenedNetwork> {
  const { network, clockControl, checkIdentity } = await createConfiguredNetwork(config, handle, log);
  refuseForeignTreasury(network, config.TREASURY_ADDRESS);
  if (checkIdentity === null) return { network, clockControl };
  await lookAtNode({ network, checkIdentity }, handle, log);
  return { network: askOnlyOwnNode(network, checkIdentity, () => performance.now()), clockControl };
}

export interface CreatedNetwork extends OpenedNetwork {
  /** Asks the node which network it belongs to; null where there is no node. */
  checkIdentity: CheckIdentity | null;
}

/** Made of its settings, and looked at by nobody yet. `handle` is where the embedded network lives. */
export async function createConfiguredNetwork(
  config: Config,
  handle: DatabaseHandle,
  log: Logger,
): Promise<CreatedNetwork> {
  const { ledger } = config;
  if (ledger.family !== 'embedded') return createRealNetwork(ledger, log);
  const network = await createEmbeddedNetwork({
    handle,
    secretKey: config.LEDGER_SECRET_KEY,
    clock: systemClock,
    randomBytes,
    settlementAddress: config.RAMP_SETTLEMENT_ADDRESS,
  });
  return { network, clockControl: network, checkIdentity: null };
}

/** The libraries of a network are loaded by those who use it. */
export async function createRealNetwork(
  ledger: StellarLedger | EvmLedger,
  log: Logger,
): Promise<CreatedNetwork> {
  if (ledger.family === 'stellar') {
    const { createStellarNetwork } = await import('./ledger/network/stellar/stellarNetwork.ts');
    const network = await createStellarNetwork({ ...ledger, log });
    return { network, clockControl: undefined, checkIdentity: stellarIdentityCheck(ledger) };
  }
  const { createEvmNetwork } = await import('./ledger/network/evm/evmNetwork.ts');
  const network = await createEvmNetwork({ ...ledger, log });
  return { network, clockControl: undefined, checkIdentity: evmIdentityCheck(ledger) };
}

/** @throws WrongNetwork; StartupError when the node is away before it was ever seen */
async function lookAtNode(
  { network, checkIdentity }: { network: LedgerNetwork; checkIdentity: CheckIdentity },
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
}

/** A database is tied to its network for ever, so not to one that may be a slip of the pen. */
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
