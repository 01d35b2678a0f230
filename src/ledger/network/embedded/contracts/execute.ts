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
export function keysOf(
  { networkId, factoryAddress, source }: Omit<Context, 'closedAt'>,
  call: Invocation,
): WorldKeys {
  const offRamp = 'settlementAddress' in call ? [call] : [];
  const settlement = offRamp.map(({ settlementAddress }) => settlementAddress);
  const token = 'tokenAddress' in call ? [call.tokenAddress] : [];
  const deployed = 'salt' in call ? [deployedAddress(networkId, factoryAddress, call.salt)] : [];
  const ofEitherKind = 'contractAddress' in call ? [call.contractAddress] : deployed;
  // A mint takes from no account.
  const payer = call.kind === 'mint' ? [] : [source];
  const holders = [...payer, ...('to' in call ? [call.to] : []), ...settlement];
  return {
    tokens: [...ofEitherKind, ...token],
    settlements: [...ofEitherKind, ...settlement],
    balances: 'amount' in call ? holders.map((holder) => ({ tokenAddress: call.tokenAddress, holder })) : [],
    offRamps: offRamp.map(({ settlementAddress, sessionId }) => ({
      settlementAddress,
      referenceId: hashText(sessionId),
    })),
  };
}

function setPaused(
  world: World,
  context: Context,
  call: Extract<Invocation, { kind: 'setPaused' }>,
): Effects {
  const token = world.tokens.get(call.contractAddress);
  const settlement = world.settlements.get(call.contractAddress);
  const contract =
    token ?? settlement ?? refuse('CONTRACT_NOT_FOUND', `No contract stands at ${call.contractAddress}`);
  requireAdmin(contract.admin, context, call.paused ? 'pause it' : 'unpause it');
  if (token) world.tokens.put({ ...token, paused: call.paused });
  if (settlement) world.settlements.put({ ...settlement, paused: call.paused });
  return { result: { kind: 'done' }, events: [] };
}
