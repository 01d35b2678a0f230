/**
 * Encodes the port's calls as call data, and refuses arguments that the contracts can't take.
 */
import { encodeFunctionData, maxUint256 } from 'viem';
import type { Address, Hex } from 'viem';
import { NetworkRefusal, refused } from '../port.ts';
import type { NetworkCall } from '../port.ts';
import { ZERO_ADDRESS, hashText, requireAddress } from './addresses.ts';
import {
  carbonTokenAbi,
  commodityTokenAbi,
  factoryAbi,
  settlementAbi,
  settlementFactoryAbi,
} from './contracts.ts';
import type { ContractAddresses } from './contracts.ts';

export interface EncodedCall {
  to: Address;
  data: Hex;
  /** The factory may charge `deploymentFee()` for the call. */
  mayCostFee: boolean;
  /** The contracts that must exist: the one called, and the token concerned. */
  involved: readonly Address[];
  /** The contracts' errors, besides those that every contract has. */
  errors: ContractAddresses['errors'];
}

/**
 * @param sender admin of the contract that the call deploys
 * @throws NetworkRefusal for arguments that no contract could take, and for contracts that are not configured
 */
export function encodeCall(contracts: ContractAddresses, sender: Address, call: NetworkCall): EncodedCall {
  requireTexts(call);
  try {
    return { ...encode(contracts, sender, call), errors: contracts.errors };
  } catch (error) {
    if (error instanceof NetworkRefusal) throw error;
    throw invalid(error instanceof Error ? (error.message.split('\n')[0] ?? error.name) : String(error));
  }
}

type Encoded = Omit<EncodedCall, 'errors'>;

function encode(contracts: ContractAddresses, sender: Address, call: NetworkCall): Encoded {
  switch (call.kind) {
    case 'deployCarbonCredit':
    case 'deployCommodityReceipt':
      return to(contracts.factory, deployData(call, sender), { mayCostFee: true });
    case 'deployRampSettlement': {
      const factory = required(contracts.settlementFactory, 'settlement factory');
      const args = [sender, requireAddress(call.treasury, 'OTHER')] as const;
      const data = encodeFunctionData({ abi: settlementFactoryAbi, functionName: call.kind, args });
      return to(factory, data, { mayCostFee: true });
    }
    case 'mint': {
      const args = [requireAddress(call.to, 'OTHER'), amountOf(call)] as const;
      return toToken(call, encodeFunctionData({ abi: carbonTokenAbi, functionName: 'mint', args }));
    }
    case 'retire': {
      const args = [amountOf(call), call.beneficiary, call.note] as const;
      return toToken(call, encodeFunctionData({ abi: carbonTokenAbi, functionName: 'retire', args }));
    }
    case 'markExpired':
      return toToken(call, encodeFunctionData({ abi: commodityTokenAbi, functionName: 'markExpired' }));
    case 'setAllowance': {
      const args = [requireSettlement(contracts), amountOf(call)] as const;
      return toToken(call, encodeFunctionData({ abi: carbonTokenAbi, functionName: 'approve', args }));
    }
    case 'depositOffRamp': {
      const token = requireAddress(call.tokenAddress);
      const args = [hashText(call.sessionId), token, amountOf(call), call.sessionId] as const;
      const data = encodeFunctionData({ abi: settlementAbi, functionName: 'initiateOffRamp', args });
      return to(requireSettlement(contracts), data, { involved: [token] });
    }
    case 'confirmOffRampSettlement':
    case 'refundOffRamp': {
      const args = [hashText(call.sessionId)] as const;
      const data = encodeFunctionData({ abi: settlementAbi, functionName: call.kind, args });
      return to(requireSettlement(contracts), data);
    }
  }
}

function toToken({ tokenAddress }: { tokenAddress: string }, data: Hex): Encoded {
  return to(requireAddress(tokenAddress), data);
}

function to(
  address: Address,
  data: Hex,
  options: { mayCostFee?: boolean; involved?: readonly Address[] } = {},
): Encoded {
  const { mayCostFee = false, involved = [] } = options;
  return { to: address, data, mayCostFee, involved: [address, ...involved] };
}

function deployData(
  call: Extract<NetworkCall, { kind: 'deployCarbonCredit' | 'deployCommodityReceipt' }>,
  admin: Address,
): Hex {
  const { name, symbol, assetId, countryCode } = call;
  // The library checks the length and digits of hashes.
  const common = [name, symbol, hashText(assetId), countryCode, admin, ZERO_ADDRESS] as const;
  if (call.kind === 'deployCarbonCredit') {
    const { metadata } = call;
    return encodeFunctionData({
      abi: factoryAbi,
      functionName: 'deployCarbonCreditToken',
      args: [
        ...common,
        {
          ...metadata,
          vintageYear: BigInt(metadata.vintageYear),
          verificationDocHash: metadata.verificationDocHash as Hex,
        },
      ],
    });
  }
  const { metadata } = call;
  return encodeFunctionData({
    abi: factoryAbi,
    functionName: 'deployCommodityReceiptToken',
    args: [...common, { ...metadata, inspectionReportHash: metadata.inspectionReportHash as Hex }],
  });
}

function amountOf({ amount }: { amount: bigint }): bigint {
  if (amount < 0n || amount > maxUint256) {
    throw invalid(`the amount ${amount} is not between 0 and 2^256-1`);
  }
  return amount;
}

/** UTF-8 encoding would replace half a surrogate pair, so the contract would get another text. */
function requireTexts(call: NetworkCall): void {
  const texts = [call, 'metadata' in call ? call.metadata : {}].flatMap((part) => Object.entries(part));
  for (const [name, value] of texts) {
    if (typeof value === 'string' && !value.isWellFormed()) {
      throw invalid(`${name} holds half a surrogate pair`);
    }
  }
}

function requireSettlement({ settlement }: ContractAddresses): Address {
  return required(settlement, 'settlement contract');
}

function required(address: Address | null, what: string): Address {
  if (address) return address;
  throw refused('CONTRACT_NOT_FOUND', `No ${what} is configured`);
}

function invalid(problem: string): NetworkRefusal {
  return refused('OTHER', `Invalid arguments: ${problem}`);
}
