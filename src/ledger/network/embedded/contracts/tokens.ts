/**
 * The carbon credit token and the commodity receipt token.
 *
 *   receipt status:  DRAFT ──mark_expired, ledger time past the expiry date──▶ EXPIRED
 *
 * An expired receipt can still be transferred, so that one held by the settlement contract can be settled.
 */
import { noTokenAt } from '../../port.ts';
import type { Address } from '../../port.ts';
import { MAX_I128 } from '../calls.ts';
import type { Invocation } from '../calls.ts';
import { balanceKey, type TokenState, type World } from '../world.ts';
import { eventOf, refuse } from './effects.ts';
import type { Context, ContractEvent, Effects } from './effects.ts';

type Call<K extends Invocation['kind']> = Extract<Invocation, { kind: K }>;

/**
 * Creates `amount` base units for `to`.
 * @throws NetworkRefusal CONTRACT_NOT_FOUND, UNAUTHORIZED, PAUSED, ZERO_AMOUNT; OTHER above 128 bits
 */
export function mint(world: World, context: Context, call: Call<'mint'>): Effects {
  const token = requireToken(world, call.tokenAddress);
  requireAdmin(token.admin, context, `mint ${token.symbol}`);
  requireRunning(token);
  requirePositive(call.amount);
  if (token.totalSupply + token.totalRetired + call.amount > MAX_I128) {
    refuse('OTHER', `Minting ${call.amount} would overflow the supply of ${token.address}`);
  }
  world.tokens.put({ ...token, totalSupply: token.totalSupply + call.amount });
  addTo(world, token.address, call.to, call.amount);
  const event = eventOf(token.address, 'mint', [call.to], String(call.amount));
  return { result: { kind: 'done' }, events: [event] };
}

/**
 * Burns `amount` base units of the caller's balance, and appends a retirement record.
 * @throws NetworkRefusal CONTRACT_NOT_FOUND, WRONG_TEMPLATE, PAUSED, ZERO_AMOUNT, INSUFFICIENT_BALANCE
 */
export function retire(world: World, context: Context, call: Call<'retire'>): Effects {
  const token = requireToken(world, call.tokenAddress);
  if (token.template !== 'carbon-credit') {
    refuse(
      'WRONG_TEMPLATE',
      `${token.address} is a ${token.template} token; only carbon credits are retired`,
    );
  }
  requireRunning(token);
  requirePositive(call.amount);
  takeFrom(world, token.address, context.source, call.amount);
  const index = token.totalRetirements;
  world.tokens.put({
    ...token,
    totalSupply: token.totalSupply - call.amount,
    totalRetired: token.totalRetired + call.amount,
    totalRetirements: index + 1,
  });
  world.retirements.push({
    tokenAddress: token.address,
    index,
    retiredBy: context.source,
    amount: call.amount,
    timestamp: context.closedAt,
    beneficiary: call.beneficiary,
    note: call.note,
  });
  const retired = [String(call.amount), call.beneficiary, index, String(context.closedAt)];
  const event = eventOf(token.address, 'retired', [context.source], retired);
  return { result: { kind: 'retired', retirementIndex: index }, events: [event] };
}

/**
 * Moves `amount` base units of the caller's balance to `to`.
 * @throws NetworkRefusal CONTRACT_NOT_FOUND, PAUSED, ZERO_AMOUNT, INSUFFICIENT_BALANCE
 */
export function transfer(world: World, context: Context, call: Call<'transfer'>): Effects {
  const token = requireToken(world, call.tokenAddress);
  const event = moveTokens(world, token, { from: context.source, to: call.to, amount: call.amount });
  return { result: { kind: 'done' }, events: [event] };
}

/**
 * Ends a receipt whose expiry date has passed by the ledger's time; a paused one, too.
 * @throws NetworkRefusal CONTRACT_NOT_FOUND, WRONG_TEMPLATE, UNAUTHORIZED, WRONG_STATUS, NOT_EXPIRED
 */
export function markExpired(world: World, context: Context, call: Call<'markExpired'>): Effects {
  const token = requireToken(world, call.tokenAddress);
  if (token.expiryDate === null) {
    refuse('WRONG_TEMPLATE', `${token.address} is a ${token.template} token; only commodity receipts expire`);
  }
  requireAdmin(token.admin, context, 'mark the receipt expired');
  if (token.status === 'EXPIRED') refuse('WRONG_STATUS', `${token.address} is already EXPIRED`);
  if (context.closedAt <= token.expiryDate) {
    refuse(
      'NOT_EXPIRED',
      `${token.address} expires after ${token.expiryDate}; the ledger's time is ${context.closedAt}`,
    );
  }
  world.tokens.put({ ...token, status: 'EXPIRED' });
  return { result: { kind: 'done' }, events: [] };
}

/** The token's transfer, called by its holder or by a contract that the holder called. */
export function moveTokens(
  world: World,
  token: TokenState,
  move: { from: Address; to: Address; amount: bigint },
): ContractEvent {
  requireRunning(token);
  requirePositive(move.amount);
  takeFrom(world, token.address, move.from, move.amount);
  addTo(world, token.address, move.to, move.amount);
  return eventOf(token.address, 'transfer', [move.from, move.to], String(move.amount));
}

/** @throws NetworkRefusal CONTRACT_NOT_FOUND */
export function requireToken(world: World, address: Address): TokenState {
  const token = world.tokens.get(address);
  if (!token) throw noTokenAt(address);
  return token;
}

/** @throws NetworkRefusal UNAUTHORIZED */
export function requireAdmin(admin: Address, context: Context, what: string): void {
  if (context.source !== admin) {
    refuse('UNAUTHORIZED', `Only ${admin} may ${what}; the call was signed by ${context.source}`);
  }
}

/**
 * The deployed contracts refuse zero; this network also refuses negative amounts: they would create tokens.
 */
export function requirePositive(amount: bigint): void {
  if (amount === 0n) refuse('ZERO_AMOUNT', 'The amount is zero');
  if (amount < 0n) refuse('OTHER', `The amount is negative: ${amount}`);
}

function requireRunning(token: TokenState): void {
  if (token.paused) refuse('PAUSED', `The token ${token.address} is paused`);
}

function takeFrom(world: World, tokenAddress: Address, holder: Address, amount: bigint): void {
  const available = balanceOf(world, tokenAddress, holder);
  if (available < amount) {
    refuse(
      'INSUFFICIENT_BALANCE',
      `${holder} holds too little of ${tokenAddress}: available ${available}, requested ${amount}`,
    );
  }
  world.balances.put({ tokenAddress, holder, amount: available - amount });
}

function addTo(world: World, tokenAddress: Address, holder: Address, amount: bigint): void {
  world.balances.put({ tokenAddress, holder, amount: balanceOf(world, tokenAddress, holder) + amount });
}

function balanceOf(world: World, tokenAddress: Address, holder: Address): bigint {
  return world.balances.get(balanceKey({ tokenAddress, holder }))?.amount ?? 0n;
}
