/**
 * Addresses as clients spell them, in the network's one spelling.
 */
import type { AnyColumn } from 'drizzle-orm';
import { isAmong } from '../../db/conditions.ts';
import { DomainError } from '../../lib/errors.ts';
import type { Address } from '../../ledger/network/port.ts';
import type { Needs } from './dependencies.ts';

/**
 * @param field where the address was given, as a dotted path from the arguments
 * @throws DomainError BAD_USER_INPUT
 */
export function requireAddress({ network }: Needs<'network'>, text: string, field: string): Address {
  const address = network.normalizeAddress(text);
  if (address !== null) return address;
  const message = `"${text}" is not an address of the network "${network.name}".`;
  throw new DomainError('BAD_USER_INPUT', message, { field });
}

/** A filter's member: the column is one of the addresses. A text that is no address matches nothing. */
export function isAmongAddresses(column: AnyColumn) {
  return (texts: readonly string[], { network }: Needs<'network'>) =>
    isAmong(column)(texts.flatMap((text) => network.normalizeAddress(text) ?? []));
}
