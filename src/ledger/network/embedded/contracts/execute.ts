/**
 * Runs one invocation against the contracts, and lists beforehand the keys of the state that it touches.
 */
import { deployedAddress, hashText } from '../addresses.ts';
import type { Invocation } from '../calls.ts';
import type { World, WorldKeys } from '../world.ts';
import { refuse } from './effects.ts';
import type { Context, Effects } from './effects.ts';
import { deploySettlement, deployToken } from './factory.ts';
import { depositOffRamp, resolveOffRamp } from './settlement.ts';
import { markExpired, mint, requireAdmin, retire, transfer } from './tokens.ts';

/** @throws NetworkRefusal if a contract refuses; the world is then unchanged */
export function execute(world: World, context: Context, call: Invocation): Effects {
  switch (call.kind) {
    case 'deployCarbonCredit':
    case 'deployCommodityReceipt':
      return deployToken(world, context, call);
    case 'deployRampSettlement':
      return deploySettlement(world, context, call);
    case 'mint':
      return mint(world, context, call);
    case 'retire':
      return retire(world, context, call);
    case 'transfer':
      return transfer(world, context, call);
    case 'markExpired':
      return markExpired(world, context, call);
    case 'depositOffRamp':
      return depositOffRamp(world, context, call);
    case 'confirmOffRampSettlement':
    case 'refundOffRamp':
      return resolveOffRamp(world, context, call);
    case 'setPaused':
      return setPaused(world, context, call);
    default:
      return call satisfies never;
  }
}

/**
 * The keys that `execute` will read, as far as the call names them. Calls about deposits read further
 * balances.
 */
export function keysOf(context: Omit<Context, 'closedAt'>, call: Invocation): WorldKeys {
  const keys: WorldKeys = { tokens: [], settlements: [], balances: [], offRamps: [] };
  switch (call.kind) {
    case 'deployCarbonCredit':
    case 'deployCommodityReceipt':
    case 'deployRampSettlement': {
      const address = deployedAddress(context.networkId, context.factoryAddress, call.salt);
      return { ...keys, tokens: [address], settlements: [address] };
    }
    case 'setPaused':
      return { ...keys, tokens: [call.contractAddress], settlements: [call.contractAddress] };
    case 'markExpired':
      return { ...keys, tokens: [call.tokenAddress] };
    case 'mint':
      return { ...keys, tokens: [call.tokenAddress], balances: balancesOf(call.tokenAddress, [call.to]) };
    case 'retire':
      return {
        ...keys,
        tokens: [call.tokenAddress],
        balances: balancesOf(call.tokenAddress, [context.source]),
      };
    case 'transfer': {
      const holders = [context.source, call.to];
      return { ...keys, tokens: [call.tokenAddress], balances: balancesOf(call.tokenAddress, holders) };
    }
    case 'depositOffRamp': {
      const holders = [context.source, call.settlementAddress];
      return {
        ...offRampKeys(call),
        tokens: [call.tokenAddress],
        balances: balancesOf(call.tokenAddress, holders),
      };
    }
    case 'confirmOffRampSettlement':
    case 'refundOffRamp':
      return offRampKeys(call);
    default:
      return call satisfies never;
  }
}

function setPaused(
  world: World,
  context: Context,
  call: Extract<Invocation, { kind: 'setPaused' }>,
): Effects {
  const token = world.token(call.contractAddress);
  const settlement = world.settlement(call.contractAddress);
  const contract =
    token ?? settlement ?? refuse('CONTRACT_NOT_FOUND', `No contract stands at ${call.contractAddress}`);
  requireAdmin(contract.admin, context, call.paused ? 'pause it' : 'unpause it');
  if (token) world.putToken({ ...token, paused: call.paused });
  if (settlement) world.putSettlement({ ...settlement, paused: call.paused });
  return { result: { kind: 'done' }, events: [] };
}

function offRampKeys(call: { settlementAddress: string; sessionId: string }): WorldKeys {
  const { settlementAddress } = call;
  return {
    tokens: [],
    settlements: [settlementAddress],
    balances: [],
    offRamps: [{ settlementAddress, referenceId: hashText(call.sessionId) }],
  };
}

function balancesOf(tokenAddress: string, holders: string[]): WorldKeys['balances'] {
  return holders.map((holder) => ({ tokenAddress, holder }));
}
