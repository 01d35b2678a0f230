/**
 * The token factory, which also deploys settlement contracts: each salt deploys one contract, once.
 */
import { deployedAddress, hashText } from '../addresses.ts';
import type { Invocation } from '../calls.ts';
import type { World } from '../world.ts';
import { eventOf, refuse } from './effects.ts';
import type { Context, Effects } from './effects.ts';

type DeployToken = Extract<Invocation, { kind: 'deployCarbonCredit' | 'deployCommodityReceipt' }>;
type DeploySettlement = Extract<Invocation, { kind: 'deployRampSettlement' }>;

/**
 * Deploys a token in status DRAFT, without supply, whose admin is the caller.
 * @throws NetworkRefusal SALT_ALREADY_USED
 */
export function deployToken(world: World, context: Context, call: DeployToken): Effects {
  const address = requireFreeAddress(world, context, call.salt);
  const isCarbon = call.kind === 'deployCarbonCredit';
  world.tokens.put({
    address,
    template: isCarbon ? 'carbon-credit' : 'commodity',
    admin: context.source,
    symbol: call.symbol,
    paused: false,
    status: 'DRAFT',
    expiryDate: isCarbon ? null : call.metadata.expiryDate,
    totalSupply: 0n,
    totalRetired: 0n,
    totalRetirements: 0,
  });
  const template = isCarbon ? 'CarbonCredit' : 'CommodityReceipt';
  return deployed(context, address, template, [hashText(call.assetId), call.countryCode]);
}

/** Deploys a settlement contract, whose admin is the caller. @throws NetworkRefusal SALT_ALREADY_USED */
export function deploySettlement(world: World, context: Context, call: DeploySettlement): Effects {
  const address = requireFreeAddress(world, context, call.salt);
  world.settlements.put({ address, admin: context.source, treasury: call.treasury, paused: false });
  return deployed(context, address, 'RampSettlement', [call.treasury]);
}

function requireFreeAddress(world: World, context: Context, salt: string): string {
  const address = deployedAddress(context.networkId, context.factoryAddress, salt);
  if (world.tokens.get(address) ?? world.settlements.get(address)) {
    refuse('SALT_ALREADY_USED', `The salt ${salt} was used before: a contract stands at ${address}`);
  }
  return address;
}

function deployed(
  { factoryAddress, source }: Context,
  address: string,
  template: string,
  facts: readonly string[],
): Effects {
  return {
    result: { kind: 'deployed', contractAddress: address },
    events: [eventOf(factoryAddress, 'deployed', [template], [address, source, ...facts])],
  };
}
