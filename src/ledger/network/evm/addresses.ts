/**
 * Addresses in their one spelling, which serves as a key: checksummed by letter case (EIP-55).
 */
import { getAddress, keccak256, stringToBytes } from 'viem';
import type { Address, Hex } from 'viem';
import { refused } from '../port.ts';
import type { RefusalReason } from '../port.ts';

export const ZERO_ADDRESS: Address = '0x0000000000000000000000000000000000000000';

/**
 * Accepts any letter case; mixed case must have the right checksum. Returns null for the zero address,
 * because no account has it and contracts refuse it.
 */
export function normalizeAddress(text: string): Address | null {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) return null;
  const spelled = getAddress(text.toLowerCase());
  const digits = text.slice(2);
  const isMixed = digits !== digits.toLowerCase() && digits !== digits.toUpperCase();
  return (isMixed && text !== spelled) || spelled === ZERO_ADDRESS ? null : spelled;
}

/** @throws NetworkRefusal, by default CONTRACT_NOT_FOUND, because an invalid address has no contract */
export function requireAddress(text: string, reason: RefusalReason = 'CONTRACT_NOT_FOUND'): Address {
  const address = normalizeAddress(text);
  if (address) return address;
  throw refused(
    reason,
    `${text.slice(0, 100)} is no address of this network: 0x, 40 hexadecimal digits, with a right checksum if in mixed case`,
  );
}

/** keccak256 of the UTF-8 text, as the contracts hash asset ids and session ids. */
export function hashText(text: string): Hex {
  return keccak256(stringToBytes(text));
}
