/**
 * The ABI of the deployed contracts: functions, events and errors by their signatures.
 */
import { decodeFunctionData, parseAbi } from 'viem';
import type { Address, Hex } from 'viem';
import type { AbiError } from './errorAbi.ts';

export const factoryAbi = parseAbi([
  'struct CarbonCreditMetadata { string creditType; string verificationBodyRef; uint256 vintageYear; uint256 quantityCO2e; string projectLocation; string projectType; bytes32 verificationDocHash; uint256 lastUpdated; }',
  'struct CommodityMetadata { string commodityType; uint256 quantityKg; string gradeClassification; string warehouseId; string warehouseLocation; uint256 depositDate; uint256 expiryDate; bytes32 inspectionReportHash; uint256 valuationUSD; string harvestSeason; uint256 lastUpdated; }',
  'function deployCarbonCreditToken(string name, string symbol, bytes32 assetId, string country, address admin, address verifier, CarbonCreditMetadata metadata) payable returns (address)',
  'function deployCommodityReceiptToken(string name, string symbol, bytes32 assetId, string country, address admin, address verifier, CommodityMetadata metadata) payable returns (address)',
  'function deploymentFee() view returns (uint256)',
  'event TokenDeployed(uint8 indexed template, address indexed tokenAddress, address indexed deployer, bytes32 assetId, string countryCode, uint256 timestamp)',
]);

export const settlementFactoryAbi = parseAbi([
  'function deployRampSettlement(address admin, address treasury) payable returns (address)',
  'event RampSettlementDeployed(address indexed settlementAddress, address indexed deployer, address admin, address treasury, uint256 timestamp)',
]);

const erc20 = [
  'function mint(address to, uint256 amount)',
  'function approve(address spender, uint256 amount) returns (bool)',
  'function transfer(address to, uint256 amount) returns (bool)',
  'function balanceOf(address account) view returns (uint256)',
  'function totalSupply() view returns (uint256)',
] as const;

export const tokenAbi = parseAbi(erc20);

export const carbonTokenAbi = parseAbi([
  ...erc20,
  // Texts are declared as bytes: viem drops a byte order mark when it decodes a string, and texts are quoted
  // unchanged.
  'struct RetirementRecord { address retiredBy; uint256 amount; uint256 timestamp; bytes beneficiary; bytes retirementNote; }',
  'function retire(uint256 amount, string beneficiary, string note)',
  'function totalRetired() view returns (uint256)',
  'function totalRetirements() view returns (uint256)',
  'function getRetirement(uint256 index) view returns (RetirementRecord)',
  'event CreditsRetired(address indexed retiredBy, uint256 amount, string beneficiary, uint256 retirementIndex, uint256 timestamp)',
]);

export const commodityTokenAbi = parseAbi([
  ...erc20,
  'function markExpired()',
  'function isExpired() view returns (bool)',
  'function status() view returns (uint8)',
]);

export const settlementAbi = parseAbi([
  'struct OffRamp { address depositor; address token; uint256 amount; uint8 status; uint256 initiatedAt; }',
  'function initiateOffRamp(bytes32 referenceId, address token, uint256 amount, string providerRef)',
  'function confirmOffRampSettlement(bytes32 referenceId)',
  'function refundOffRamp(bytes32 referenceId)',
  'function getOffRamp(bytes32 referenceId) view returns (OffRamp)',
]);

const calledAbi = [...factoryAbi, ...settlementFactoryAbi, ...carbonTokenAbi, ...commodityTokenAbi];

/** The function that call data calls; empty for one that is none of these contracts'. */
export function functionCalled(data: Hex): string {
  try {
    return decodeFunctionData({ abi: calledAbi, data }).functionName;
  } catch {
    return '';
  }
}

/** Common functions that the settlement contract's interface does not include; used if present. */
export const optionalSettlementAbi = parseAbi([
  'function paused() view returns (bool)',
  'function treasury() view returns (address)',
]);

/**
 * The contracts' own errors, and those of the OpenZeppelin libraries that they use. viem knows Solidity's own
 * `Error(string)` and `Panic(uint256)`.
 */
export const errorsAbi = parseAbi([
  'error ZeroRetirementAmount()',
  'error ZeroAmount()',
  'error InsufficientBalance(uint256 available, uint256 requested)',
  'error ReferenceAlreadyUsed(bytes32 referenceId)',
  'error InvalidStatus()',
  'error EnforcedPause()',
  'error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)',
  'error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)',
  'error AccessControlUnauthorizedAccount(address account, bytes32 neededRole)',
  'error OwnableUnauthorizedAccount(address account)',
  'error AddressEmptyCode(address target)',
  'error SafeERC20FailedOperation(address token)',
  'error NotVerified(address account)',
  'error InsufficientFee()',
  'error InsufficientFee(uint256 required, uint256 sent)',
  'error TemplateNotRegistered()',
  'error TemplateNotRegistered(uint8 template)',
  'error ZeroAddress()',
  'error ImplementationNotSet()',
  'error ImplementationNotSet(uint8 template)',
]);

export const multicallAbi = parseAbi([
  'struct Call3 { address target; bool allowFailure; bytes callData; }',
  'struct Result { bool success; bytes returnData; }',
  'function aggregate3(Call3[] calls) payable returns (Result[] returnData)',
]);

/** Multicall3 has the same address on nearly every chain. */
export const MULTICALL3_ADDRESS: Address = '0xcA11bde05977b3631167028862bE2a173976CA11';

/** `TokenDeployed` names the template by this number. */
export const TEMPLATE_NUMBERS = { commodity: 1, 'carbon-credit': 4 } as const;

/** The contracts in use, as configured. */
export interface ContractAddresses {
  factory: Address;
  settlementFactory: Address | null;
  settlement: Address | null;
  /** Further errors, which only the operator knows. */
  errors: readonly AbiError[];
}
