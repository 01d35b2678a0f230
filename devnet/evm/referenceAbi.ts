/**
 * The documented interface of the deployed EVM contracts, with which the test contracts are compared.
 */
import { parseAbi } from 'viem';

const CARBON_METADATA =
  'struct CarbonCreditMetadata { string creditType; string verificationBodyRef; uint256 vintageYear; uint256 quantityCO2e; string projectLocation; string projectType; bytes32 verificationDocHash; uint256 lastUpdated; }';
const COMMODITY_METADATA =
  'struct CommodityMetadata { string commodityType; uint256 quantityKg; string gradeClassification; string warehouseId; string warehouseLocation; uint256 depositDate; uint256 expiryDate; bytes32 inspectionReportHash; uint256 valuationUSD; string harvestSeason; uint256 lastUpdated; }';

export const factoryAbi = parseAbi([
  CARBON_METADATA,
  COMMODITY_METADATA,
  'function deployCarbonCreditToken(string name, string symbol, bytes32 assetId, string country, address admin, address verifier, CarbonCreditMetadata metadata) payable returns (address)',
  'function deployCommodityReceiptToken(string name, string symbol, bytes32 assetId, string country, address admin, address verifier, CommodityMetadata metadata) payable returns (address)',
  'function deploymentFee() view returns (uint256)',
  'event TokenDeployed(uint8 indexed template, address indexed tokenAddress, address indexed deployer, bytes32 assetId, string countryCode, uint256 timestamp)',
]);

const ERC20 = [
  'function name() view returns (string)',
  'function symbol() view returns (string)',
  'function decimals() view returns (uint8)',
  'function totalSupply() view returns (uint256)',
  'function balanceOf(address) view returns (uint256)',
  'function transfer(address,uint256) returns (bool)',
  'function approve(address,uint256) returns (bool)',
  'function allowance(address,address) view returns (uint256)',
  'function transferFrom(address,address,uint256) returns (bool)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event Approval(address indexed owner, address indexed spender, uint256 value)',
] as const;

export const carbonTokenAbi = parseAbi([
  ...ERC20,
  'struct RetirementRecord { address retiredBy; uint256 amount; uint256 timestamp; string beneficiary; string retirementNote; }',
  'function mint(address,uint256)',
  'function retire(uint256 amount, string beneficiary, string note)',
  'function totalRetired() view returns (uint256)',
  'function totalRetirements() view returns (uint256)',
  'function getRetirement(uint256) view returns (RetirementRecord)',
  'event CreditsRetired(address indexed retiredBy, uint256 amount, string beneficiary, uint256 retirementIndex, uint256 timestamp)',
  'error ZeroRetirementAmount()',
  'error InsufficientBalance(uint256 available, uint256 requested)',
]);

export const commodityTokenAbi = parseAbi([
  ...ERC20,
  'function mint(address,uint256)',
  'function isExpired() view returns (bool)',
  'function markExpired()',
  'function status() view returns (uint8)',
]);

export const settlementAbi = parseAbi([
  'struct OffRamp { address depositor; address token; uint256 amount; uint8 status; uint256 initiatedAt; }',
  'function initiateOffRamp(bytes32 referenceId, address token, uint256 amount, string providerRef)',
  'function confirmOffRampSettlement(bytes32)',
  'function refundOffRamp(bytes32)',
  'function getOffRamp(bytes32) view returns (OffRamp)',
  'error ReferenceAlreadyUsed(bytes32)',
  'error InvalidStatus()',
  'error ZeroAmount()',
]);

export const settlementFactoryAbi = parseAbi([
  'function deployRampSettlement(address admin, address treasury) payable returns (address)',
  'event RampSettlementDeployed(address indexed settlementAddress, address indexed deployer, address admin, address treasury, uint256 timestamp)',
]);

/** OpenZeppelin's functions of the tokens and of the settlement contract. */
export const guardedAbi = parseAbi([
  'function pause()',
  'function unpause()',
  'function paused() view returns (bool)',
  'error EnforcedPause()',
  'error AccessControlUnauthorizedAccount(address account, bytes32 neededRole)',
]);

/** Errors of OpenZeppelin's tokens, which pass through every contract that calls a token. */
export const erc20ErrorsAbi = parseAbi([
  'error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)',
  'error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)',
]);
