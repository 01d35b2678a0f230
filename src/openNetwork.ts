/**
 * The configured ledger network, with the check that it and the treasury belong together.
 */
import { randomBytes } from 'node:crypto';
import { systemClock } from './clock.ts';
import type { Config } from './config.ts';
import type { DatabaseHandle } from './db/connection.ts';
import { createEmbeddedNetwork, type EmbeddedNetwork } from './ledger/network/embedded/embeddedNetwork.ts';
import type { LedgerNetwork } from './ledger/network/port.ts';
import { StartupError } from './startupErrors.ts';

/** @throws StartupError when the treasury is not what the custody signer can burn from. */
export async function openConfiguredNetwork(
  config: Config,
  handle: DatabaseHandle,
): Promise<EmbeddedNetwork> {
  const network = await createEmbeddedNetwork({
    handle,
    secretKey: config.LEDGER_SECRET_KEY,
    clock: systemClock,
    randomBytes,
    settlementAddress: config.RAMP_SETTLEMENT_ADDRESS,
  });
  refuseForeignTreasury(network, config.TREASURY_ADDRESS);
  return network;
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
