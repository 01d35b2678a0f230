/**
 * A buyer with credits, for tests of retirements.
 */
import { randomUUID } from 'node:crypto';
import { openProject } from '../../devnet/platform.ts';
import { purchase } from '../../src/resolvers/carbon/purchase.ts';
import type { RetireInput } from '../../src/resolvers/carbon/retire.ts';
import type { Platform } from '../../src/startup/compose.ts';

/** Opens a project of which the buyer "acme" holds every tonne. @returns the token's address */
export async function holding(platform: Pick<Platform, 'dependencies'>, tonnes: bigint): Promise<string> {
  const { tokenAddress } = await openProject(platform, tonnes);
  await purchase(platform.dependencies, 'acme', {
    buyerId: 'acme',
    tokenAddress,
    amountCO2e: tonnes,
    idempotencyKey: randomUUID(),
  });
  return tokenAddress;
}

export const retirement = (tokenAddress: string, amountCO2e: bigint): RetireInput => ({
  buyerId: 'acme',
  buyerName: 'Acme Ltd',
  tokenAddress,
  amountCO2e,
  note: '',
  idempotencyKey: randomUUID(),
});
