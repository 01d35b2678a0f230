/**
 * The token factory, which also deploys settlement contracts: each salt deploys one contract, once.
 */
import { deployedAddress, hashText } from '../addresses.ts';
import type { Invocation } from '../calls.ts';
import type { World } from '../world.ts';
import { refuse } from './effects.ts';
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
  world.putToken({
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
  return {
    result: { kind: 'deployed', contractAddress: address },
    events: [
      {
        contract: context.factoryAddress,
        eventType: 'deployed',
        data: {
          topics: [isCarbon ? 'CarbonCredit' : 'CommodityReceipt'],
          value: [address, context.source, hashText(call.assetId), call.countryCode],
        },
      },
    ],
  };
}

/** Deploys a settlement contract, whose admin is the caller. @throws NetworkRefusal SALT_ALREADY_USED */
export function deploySettlement(world: World, context: Context, call: DeploySettlement): Effects {
  const address = requireFreeAddress(world, context, call.salt);
  world.putSettlement({ address, admin: context.source, treasury: call.treasury, paused: false });
  return {
    result: { kind: 'deployed', contractAddress: address },
    events: [
      {
        contract: context.factoryAddress,
        eventType: 'deployed',
        data: { topics: ['RampSettlement'], value: [address, context.source, call.treasury] },
      },
    ],
  };
}

function requireFreeAddress(world: World, context: Context, salt: string): string {
  const address = deployedAddress(context.networkId, context.factoryAddress, salt);
  if (world.token(address) ?? world.settlement(address)) {
    refuse('SALT_ALREADY_USED', `The salt ${salt} was used before: a contract stands at ${address}`);
  }
  return address;
}
