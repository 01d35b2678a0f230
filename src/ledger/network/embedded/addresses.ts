/**
 * Derives the network's contract addresses, and the hashes of names, instead of storing them.
 */
import { createHash } from 'node:crypto';
import type { Address, Hash32 } from '../port.ts';
import { encodeStrkey } from '../../../lib/strkey.ts';

/** SHA-256 of the UTF-8 text, as the contracts hash asset ids and settlement references. */
export function hashText(text: string): Hash32 {
  return `0x${createHash('sha256').update(text, 'utf8').digest('hex')}`;
}

/** The only factory of a network. */
export function factoryAddressOf(networkId: string): Address {
  return contractAddress(networkId, 'factory', '');
}

/** The address of a deployed contract. The salt alone determines it, so it is known before the deploy. */
export function deployedAddress(networkId: string, factoryAddress: Address, salt: Hash32): Address {
  return contractAddress(networkId, factoryAddress, salt.toLowerCase());
}

/** The settlement contract that each custody signer has on this network from the start. */
export function initialSettlementAddress(networkId: string, custodyAddress: Address): Address {
  return contractAddress(networkId, 'initial-settlement', custodyAddress);
}

function contractAddress(networkId: string, deployer: string, salt: string): Address {
  const digest = createHash('sha256').update([networkId, deployer, salt].join('\n'), 'utf8').digest();
  return encodeStrkey('contract', digest);
}
