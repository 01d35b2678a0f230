/**
 * Contract addresses and hashes of names, which this network derives instead of storing.
 */
import { createHash } from 'node:crypto';
import type { Address, Hash32 } from '../port.ts';
import { encodeStrkey } from '../../../lib/strkey.ts';

/** SHA-256 of the UTF-8 text, as the contracts hash asset ids and settlement references. */
export function hashText(text: string): Hash32 {
  return `0x${createHash('sha256').update(text, 'utf8').digest('hex')}`;
}

/** The one factory of a network. */
export function factoryAddressOf(networkId: string): Address {
  return contractAddress(networkId, 'factory', '');
}

/** The address of a deployed contract: determined by the salt alone, so known before the deploy. */
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
