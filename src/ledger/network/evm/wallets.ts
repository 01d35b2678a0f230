/**
 * Prepares the transaction that a holder's wallet signs for one call, and verifies that the signed
 * transaction is that call.
 *
 * The wallet chooses nonce, gas and fees. It may not change the contract, the data or the value (zero), or
 * add anything (access lists, code for the holder's account, blobs).
 */
import {
  parseTransaction,
  recoverTransactionAddress,
  serializeTransaction,
  hexToBytes,
  keccak256,
} from 'viem';
import type { Address, Hex, Signature } from 'viem';
import { notAsPrepared } from '../port.ts';
import type { HolderCall, PreparedTransaction, UnsignedTransaction } from '../port.ts';
import { requireAddress } from './addresses.ts';
import { MAX_TRANSACTION_BYTES } from './broadcast.ts';
import type { ContractAddresses } from './contracts.ts';
import { estimateCall } from './draft.ts';
import type { EstimateDeps } from './draft.ts';
import { evm } from './family.ts';
import { encodeCall } from './calls.ts';
import type { EncodedCall } from './calls.ts';
import { valueOf } from './jsonRpc.ts';
import type { JsonRpc } from './jsonRpc.ts';
import { ask, quantityOf } from './node.ts';
import { isSame } from './results.ts';

/** The fields and spelling of `eth_sendTransaction`, which wallets accept. */
export interface EvmCallPayload {
  chainId: Hex;
  from: Address;
  to: Address;
  data: Hex;
  value: Hex;
  nonce: Hex;
  gas: Hex;
  maxFeePerGas: Hex;
  maxPriorityFeePerGas: Hex;
}

/** Half the order of secp256k1: of a signature and its mirror image, networks accept only the lower one. */
const HALF_CURVE_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;
/** Nodes keep at most so many transactions of one account that wait for earlier ones. */
const MAX_NONCES_AHEAD = 64n;
/** The types that wallets sign: EIP-1559, and earlier types if they name the chain. */
const TYPES: ReadonlySet<string> = new Set(['eip1559', 'eip2930', 'legacy']);

/** @throws NetworkRefusal if the call can't succeed; NetworkUnavailable */
export async function prepareForHolder(
  deps: EstimateDeps & { chainId: number },
  call: HolderCall,
  holder: string,
): Promise<UnsignedTransaction> {
  const from = requireAddress(holder, 'OTHER');
  const { simulation, latest, transactionCount, gas, market } = await estimateCall(deps, call, from);
  const { to, data } = simulation.encoded;
  const payload: EvmCallPayload = {
    chainId: quantityOf(BigInt(deps.chainId)),
    from,
    to,
    data,
    value: '0x0',
    nonce: quantityOf(transactionCount),
    gas: quantityOf(gas),
    // The holder pays: the platform's cap does not apply.
    maxFeePerGas: quantityOf(2n * market.baseFee + market.priorityFee),
    maxPriorityFeePerGas: quantityOf(market.priorityFee),
  };
  return {
    format: evm.walletFormat.name,
    payload: JSON.stringify(payload),
    holder: from,
    validUntil: null,
    preparedAtLedger: latest.number,
  };
}

/** @throws NetworkRefusal NOT_AS_PREPARED, which names the difference; NetworkUnavailable */
export async function openSigned(
  deps: { rpc: JsonRpc; contracts: ContractAddresses; chainId: number },
  call: HolderCall,
  unsigned: UnsignedTransaction,
  signed: string,
  isFirst = true,
): Promise<PreparedTransaction> {
  const source = requireAddress(unsigned.holder, 'OTHER');
  const wanted = encodeCall(deps.contracts, source, call);
  const bytes = readHex(signed);
  const nonce = await readAct(bytes, wanted, source, deps.chainId);
  requireNotEarlier(nonce, unsigned);
  const hash = keccak256(bytes);
  if (isFirst) {
    const [countAnswer, knownAnswer] = await deps.rpc.askTogether([
      ask.transactionCount(source, 'latest'),
      ask.transaction(hash),
    ]);
    // A wallet may also send the transaction that it signs: then the network knows it already.
    if (valueOf(knownAnswer) === null) requireUsable(nonce, valueOf(countAnswer));
  }
  return {
    hash,
    signedBytes: hexToBytes(bytes),
    source,
    sequence: nonce,
    validUntil: null,
    preparedAtLedger: unsigned.preparedAtLedger,
  };
}

/** @returns the nonce */
async function readAct(bytes: Hex, wanted: EncodedCall, holder: Address, chainId: number): Promise<bigint> {
  const parsed = parse(bytes);
  const { to, data = '0x', value = 0n, nonce = 0 } = parsed;
  const type = parsed.type as string;
  if (!TYPES.has(type)) throw notAsPrepared(`it is of the type ${type}, not eip1559, eip2930 or legacy`);
  if (parsed.chainId !== chainId) {
    throw notAsPrepared(`it names chain ${parsed.chainId ?? 'none'} instead of ${chainId}`);
  }
  if (!to || !isSame(to, wanted.to))
    throw notAsPrepared(`it goes to ${to ?? 'no contract'} instead of ${wanted.to}`);
  if (!isSame(data, wanted.data))
    throw notAsPrepared(`its data is ${clip(data)} instead of ${clip(wanted.data)}`);
  if (value !== 0n) throw notAsPrepared(`it carries ${value} wei; the call takes none`);
  if ('accessList' in parsed && (parsed.accessList?.length ?? 0) > 0)
    throw notAsPrepared('it brings an access list');
  const signer = await signerOf(bytes, parsed);
  if (!isSame(signer, holder)) throw notAsPrepared(`it is signed by ${signer} instead of ${holder}`);
  return BigInt(nonce);
}

/**
 * The prepared nonce was the account's next one, so a transaction with a lower nonce had landed before. It is
 * another act, even with the same content.
 * @throws NetworkRefusal
 */
function requireNotEarlier(nonce: bigint, { payload }: UnsignedTransaction): void {
  const prepared = BigInt((JSON.parse(payload) as EvmCallPayload).nonce);
  if (nonce >= prepared) return;
  throw notAsPrepared(
    `its nonce ${nonce} was used before that was prepared, for the nonce ${prepared} or a later one`,
  );
}

/** @throws NetworkRefusal for a nonce that can never land, or that waits for nonces that the network lacks */
function requireUsable(nonce: bigint, next: bigint): void {
  if (nonce < next)
    throw notAsPrepared(`its nonce ${nonce} was used before; the account's next one is ${next}`);
  if (nonce - next > MAX_NONCES_AHEAD) {
    throw notAsPrepared(`its nonce ${nonce} is too far ahead of the account's next one, ${next}`);
  }
}

type Parsed = ReturnType<typeof parseTransaction>;

async function signerOf(bytes: Hex, parsed: Parsed): Promise<Address> {
  const { r, s, v, yParity } = parsed;
  if (r === undefined || s === undefined) throw notAsPrepared('it is not signed');
  if (BigInt(s) > HALF_CURVE_ORDER)
    throw notAsPrepared('its signature is of the form that networks refuse (high s)');
  const signature = { r, s, ...(v === undefined ? { yParity: yParity ?? 0 } : { v, yParity }) } as Signature;
  // Other bytes for the same content have another hash, and networks refuse them.
  if (!isSame(written(parsed, signature), bytes))
    throw notAsPrepared('its encoding is not the canonical one');
  try {
    const serializedTransaction = bytes as Parameters<
      typeof recoverTransactionAddress
    >[0]['serializedTransaction'];
    return await recoverTransactionAddress({ serializedTransaction });
  } catch {
    throw notAsPrepared('its signature is not valid');
  }
}

function written(parsed: Parsed, signature: Signature): Hex {
  const { r: _r, s: _s, v: _v, yParity: _yParity, ...unsigned } = parsed;
  try {
    return serializeTransaction(unsigned as Parsed, signature);
  } catch {
    throw notAsPrepared('its fields are not what a transaction can have');
  }
}

function readHex(signed: string): Hex {
  const text = signed.trim();
  if (!/^0x([0-9a-fA-F]{2})+$/.test(text)) {
    throw notAsPrepared('it is no signed transaction: 0x and hexadecimal digits are expected');
  }
  if (text.length > 2 + 2 * MAX_TRANSACTION_BYTES) {
    throw notAsPrepared(`it is longer than ${MAX_TRANSACTION_BYTES} bytes`);
  }
  return text.toLowerCase() as Hex;
}

function parse(bytes: Hex): Parsed {
  try {
    return parseTransaction(bytes);
  } catch {
    throw notAsPrepared('it is no transaction that can be read');
  }
}

function clip(data: Hex): string {
  return data.length > 74 ? `${data.slice(0, 74)}… (${(data.length - 2) / 2} bytes)` : data;
}
