/**
 * Converts the port's calls to contract invocations: contract, function, arguments, and the transfer that may
 * be authorised with the call. Arguments are positional, in the order of the contracts' interface.
 */
import { Address as SdkAddress, Asset, xdr } from '@stellar/stellar-sdk';
import { noTokenAt, refused } from '../port.ts';
import type { Address, CarbonCreditMetadata, CommodityMetadata, Hash32, NetworkCall } from '../port.ts';
import { bytesOf, deployedAddress, hashText, isContract } from './addresses.ts';
import { addressVal, bytes32Val, i128Val, structVal, textVal, u32Val, u64Val } from './scvals.ts';

/** The configured contracts and their network. */
export interface Contracts {
  passphrase: string;
  factoryAddress: Address;
  settlementFactoryAddress: Address | null;
  settlementAddress: Address | null;
}

export interface ContractCall {
  contract: Address;
  functionName: string;
  args: xdr.ScVal[];
}

export interface Invocation extends ContractCall {
  /** The one token transfer that may be authorised along with the call. */
  nestedTransfer: NestedTransfer | null;
}

export interface NestedTransfer {
  token: Address;
  from: Address;
  /** Null if the contract determines the recipient (of the factory's fee). */
  to: Address | null;
  /** Exactly this much, or at most. */
  amount: { exactly: bigint } | { atMost: bigint };
}

/**
 * Maximum fee of a factory for a deploy, in stroops (the payment token is XLM). The fee is 0 today. Without
 * the limit, a node could get more of custody's XLM signed away.
 */
const MAX_DEPLOYMENT_FEE_STROOPS = 100_000_000n;

/** Factory functions that create a contract. */
export const DEPLOYS: ReadonlySet<string> = new Set([
  'deploy_carbon_credit_token',
  'deploy_commodity_receipt_token',
  'deploy_ramp_settlement',
]);

/** Index of the salt among the arguments of every deploy. */
export const SALT_PLACE = 2;

type Deploy = Extract<NetworkCall, { kind: 'deployCarbonCredit' | 'deployCommodityReceipt' }>;

/** @throws NetworkRefusal for arguments that no contract could take */
export function invocationOf(contracts: Contracts, call: NetworkCall, caller: Address): Invocation {
  switch (call.kind) {
    case 'deployCarbonCredit':
    case 'deployCommodityReceipt':
      return deployInvocation(contracts, call, caller);
    case 'deployRampSettlement':
      return deploySettlementInvocation(contracts, call, caller);
    case 'mint':
      return invocation(requireToken(call.tokenAddress), 'mint', [
        addressVal('to', call.to),
        amountVal(call.amount),
      ]);
    case 'retire':
      return invocation(requireToken(call.tokenAddress), 'retire', [
        addressVal('retired_by', caller),
        amountVal(call.amount),
        textVal('beneficiary', call.beneficiary),
        textVal('note', call.note),
      ]);
    case 'markExpired':
      return invocation(requireToken(call.tokenAddress), 'mark_expired', []);
    case 'depositOffRamp':
      return depositInvocation(contracts, call, caller);
    case 'confirmOffRampSettlement':
      return invocation(requireSettlement(contracts), 'confirm_off_ramp_settlement', [
        referenceVal(call.sessionId),
      ]);
    case 'refundOffRamp':
      return invocation(requireSettlement(contracts), 'refund_off_ramp', [referenceVal(call.sessionId)]);
    case 'setAllowance':
      throw refused('OTHER', 'On Stellar a deposit needs no allowance: its authorisation holds the transfer');
    default:
      return call satisfies never;
  }
}

export function hostFunctionOf({ contract, functionName, args }: ContractCall): xdr.HostFunction {
  return xdr.HostFunction.hostFunctionTypeInvokeContract(
    new xdr.InvokeContractArgs({
      contractAddress: new SdkAddress(contract).toScAddress(),
      functionName,
      args,
    }),
  );
}

/** The token's address, which is a contract. @throws NetworkRefusal CONTRACT_NOT_FOUND */
function requireToken(address: string): Address {
  if (!isContract(address)) throw noTokenAt(address);
  return address;
}

/** @throws NetworkRefusal CONTRACT_NOT_FOUND */
function requireSettlement(contracts: Contracts): Address {
  const { settlementAddress } = contracts;
  if (settlementAddress === null) throw refused('CONTRACT_NOT_FOUND', 'No settlement contract is configured');
  return settlementAddress;
}

/** The address that a deploy will give its contract; null for other calls. */
export function predictedAddress(contracts: Contracts, call: NetworkCall): Address | null {
  if (!('salt' in call)) return null;
  if (call.kind === 'deployRampSettlement') return predictedSettlement(contracts, call.salt);
  return deployedAddress(contracts.passphrase, contracts.factoryAddress, call.salt);
}

/** Null if no factory of settlement contracts is configured. */
export function predictedSettlement(contracts: Contracts, salt: Hash32): Address | null {
  const { passphrase, settlementFactoryAddress: factory } = contracts;
  return factory === null ? null : deployedAddress(passphrase, factory, salt);
}

export function referenceVal(sessionId: string): xdr.ScVal {
  return xdr.ScVal.scvBytes(bytesOf(hashText(sessionId)));
}

/** The native asset's contract, in which fees are paid. */
export function paymentTokenOf(passphrase: string): Address {
  return Asset.native().contractId(passphrase);
}

function deployInvocation(contracts: Contracts, call: Deploy, caller: Address): Invocation {
  const isCarbon = call.kind === 'deployCarbonCredit';
  return {
    contract: contracts.factoryAddress,
    functionName: isCarbon ? 'deploy_carbon_credit_token' : 'deploy_commodity_receipt_token',
    args: [
      ...deployerArgs(contracts, call.salt, caller),
      textVal('name', call.name),
      textVal('symbol', call.symbol),
      bytes32Val('asset_id', hashText(call.assetId)),
      textVal('country_code', call.countryCode),
      addressVal('admin', caller),
      xdr.ScVal.scvVoid(),
      isCarbon ? carbonMetadata(call.metadata) : commodityMetadata(call.metadata),
    ],
    nestedTransfer: deploymentFee(contracts, caller),
  };
}

function deploySettlementInvocation(
  contracts: Contracts,
  call: Extract<NetworkCall, { kind: 'deployRampSettlement' }>,
  caller: Address,
): Invocation {
  const factory = contracts.settlementFactoryAddress;
  if (factory === null) {
    throw refused('CONTRACT_NOT_FOUND', 'No factory of settlement contracts is configured');
  }
  return {
    contract: factory,
    functionName: 'deploy_ramp_settlement',
    args: [
      ...deployerArgs(contracts, call.salt, caller),
      addressVal('admin', caller),
      addressVal('treasury', call.treasury),
    ],
    nestedTransfer: deploymentFee(contracts, caller),
  };
}

function depositInvocation(
  contracts: Contracts,
  call: Extract<NetworkCall, { kind: 'depositOffRamp' }>,
  caller: Address,
): Invocation {
  const settlement = requireSettlement(contracts);
  const token = requireToken(call.tokenAddress);
  return {
    contract: settlement,
    functionName: 'initiate_off_ramp',
    args: [
      addressVal('caller', caller),
      referenceVal(call.sessionId),
      addressVal('token', token),
      amountVal(call.amount),
      textVal('provider_ref', call.sessionId),
    ],
    nestedTransfer: { token, from: caller, to: settlement, amount: { exactly: call.amount } },
  };
}

function deployerArgs(contracts: Contracts, salt: Hash32, caller: Address): xdr.ScVal[] {
  return [
    addressVal('deployer', caller),
    addressVal('payment_token', paymentTokenOf(contracts.passphrase)),
    bytes32Val('salt', salt),
  ];
}

function deploymentFee(contracts: Contracts, caller: Address): NestedTransfer {
  return {
    token: paymentTokenOf(contracts.passphrase),
    from: caller,
    to: null,
    amount: { atMost: MAX_DEPLOYMENT_FEE_STROOPS },
  };
}

function carbonMetadata(metadata: CarbonCreditMetadata): xdr.ScVal {
  return structVal({
    credit_type: textVal('credit_type', metadata.creditType),
    verification_body_ref: textVal('verification_body_ref', metadata.verificationBodyRef),
    vintage_year: u32Val('vintage_year', metadata.vintageYear),
    quantity_co2e: i128Val('quantity_co2e', metadata.quantityCO2e),
    project_location: textVal('project_location', metadata.projectLocation),
    project_type: textVal('project_type', metadata.projectType),
    verification_doc_hash: bytes32Val('verification_doc_hash', metadata.verificationDocHash),
    last_updated: u64Val('last_updated', metadata.lastUpdated),
  });
}

function commodityMetadata(metadata: CommodityMetadata): xdr.ScVal {
  return structVal({
    commodity_type: textVal('commodity_type', metadata.commodityType),
    quantity_kg: i128Val('quantity_kg', metadata.quantityKg),
    grade_classification: textVal('grade_classification', metadata.gradeClassification),
    warehouse_id: textVal('warehouse_id', metadata.warehouseId),
    warehouse_location: textVal('warehouse_location', metadata.warehouseLocation),
    deposit_date: u64Val('deposit_date', metadata.depositDate),
    expiry_date: u64Val('expiry_date', metadata.expiryDate),
    inspection_report_hash: bytes32Val('inspection_report_hash', metadata.inspectionReportHash),
    valuation_usd: i128Val('valuation_usd', metadata.valuationUSD),
    harvest_season: textVal('harvest_season', metadata.harvestSeason),
    last_updated: u64Val('last_updated', metadata.lastUpdated),
  });
}

/** Checked here because the deployed token refuses only zero: a negative amount would create tokens. */
function amountVal(amount: bigint): xdr.ScVal {
  if (amount === 0n) throw refused('ZERO_AMOUNT', 'The amount is zero');
  if (amount < 0n) throw refused('OTHER', `The amount is negative: ${amount}`);
  return i128Val('amount', amount);
}

function invocation(contract: Address, functionName: string, args: xdr.ScVal[]): Invocation {
  return { contract, functionName, args, nestedTransfer: null };
}
