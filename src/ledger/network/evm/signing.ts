/**
 * The custody signer, and the EIP-1559 transactions that it signs, on one chain.
 */
import { hexToBytes, keccak256 } from 'viem';
import type { Address, Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { PreparedTransaction } from '../port.ts';
import { normalizeAddress } from './addresses.ts';
import type { Fees } from './fees.ts';

export interface Signer {
  readonly address: Address;
  /** No I/O. */
  sign(unsigned: Unsigned): Promise<Pick<PreparedTransaction, 'hash' | 'signedBytes'>>;
}

export interface Unsigned extends Fees {
  nonce: bigint;
  to: Address;
  data: Hex;
  value: bigint;
  gas: bigint;
}

/** @throws Error, without the key in its message, if `secretKey` is no private key */
export function createSigner(secretKey: string, chainId: number): Signer {
  const account = accountOf(secretKey);
  return {
    address: account.address,
    async sign({ nonce, ...unsigned }) {
      const signed = await account.signTransaction({
        ...unsigned,
        type: 'eip1559',
        chainId,
        nonce: safeNumber(nonce),
      });
      return { hash: keccak256(signed), signedBytes: hexToBytes(signed) };
    },
  };
}

function accountOf(secretKey: string) {
  if (!/^0x[0-9a-fA-F]{64}$/.test(secretKey)) {
    throw new Error('The secret key is no EVM private key: 0x and 64 hexadecimal digits');
  }
  try {
    const account = privateKeyToAccount(secretKey as Hex);
    return { ...account, address: normalizeAddress(account.address) ?? account.address };
  } catch {
    // The library's message may quote the key.
    throw new Error('The secret key is no EVM private key: it is zero or above the curve’s order');
  }
}

function safeNumber(nonce: bigint): number {
  if (nonce > BigInt(Number.MAX_SAFE_INTEGER)) throw new RangeError(`No account has a nonce of ${nonce}`);
  return Number(nonce);
}
