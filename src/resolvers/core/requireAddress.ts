import { DomainError } from '../../lib/errors.ts';
import type { Address } from '../../ledger/network/port.ts';
import type { Needs } from './dependencies.ts';

/**
 * Converts an address that a caller gave to the network's one spelling.
 * @param field where the address was given, as a dotted path from the arguments
 * @throws DomainError BAD_USER_INPUT
 */
export function requireAddress({ network }: Needs<'network'>, text: string, field: string): Address {
  const address = network.normalizeAddress(text);
  if (address !== null) return address;
  const message = `"${text}" is not an address of the network "${network.name}".`;
  throw new DomainError('BAD_USER_INPUT', message, { field });
}
