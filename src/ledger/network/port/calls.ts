/**
 * The calls to contracts: each is one invocation, described without any network's own types.
 */
import type { Address, BaseUnits, Hash32, UnixSeconds } from './units.ts';

export interface CarbonCreditMetadata {
  creditType: string;
  verificationBodyRef: string;
  vintageYear: number;
  quantityCO2e: BaseUnits;
  projectLocation: string;
  projectType: string;
  verificationDocHash: Hash32;
  lastUpdated: UnixSeconds;
}

export interface CommodityMetadata {
  commodityType: string;
  /** Whole kilograms, not base units. */
  quantityKg: bigint;
  gradeClassification: string;
  warehouseId: string;
  warehouseLocation: string;
  depositDate: UnixSeconds;
  expiryDate: UnixSeconds;
  inspectionReportHash: Hash32;
  /** Whole US dollars multiplied by 10^18. */
  valuationUSD: bigint;
  harvestSeason: string;
  lastUpdated: UnixSeconds;
}

interface DeployCall {
  /** Makes the deploy repeatable without a second token: a factory accepts each salt once. */
  salt: Hash32;
  name: string;
  symbol: string;
  /** The readable asset id; each adapter hashes it as its network requires. */
  assetId: string;
  countryCode: string;
}

/** One contract invocation, signed by custody; a HolderCall may be signed by a holder instead. */
export type NetworkCall =
  | ({ kind: 'deployCarbonCredit'; metadata: CarbonCreditMetadata } & DeployCall)
  | ({ kind: 'deployCommodityReceipt'; metadata: CommodityMetadata } & DeployCall)
  | { kind: 'mint'; tokenAddress: Address; to: Address; amount: BaseUnits }
  | { kind: 'retire'; tokenAddress: Address; amount: BaseUnits; beneficiary: string; note: string }
  | { kind: 'markExpired'; tokenAddress: Address }
  | { kind: 'deployRampSettlement'; salt: Hash32; treasury: Address }
  /** Lets the settlement contract take exactly `amount`; used only if `depositsNeedAllowance`. */
  | { kind: 'setAllowance'; tokenAddress: Address; amount: BaseUnits }
  /** Called `initiateOffRamp` by the contracts on EVM, `initiate_off_ramp` by those on Stellar. */
  | { kind: 'depositOffRamp'; sessionId: string; tokenAddress: Address; amount: BaseUnits }
  | { kind: 'confirmOffRampSettlement'; sessionId: string }
  | { kind: 'refundOffRamp'; sessionId: string };

export type NetworkCallKind = NetworkCall['kind'];

/** A call that a holder may sign; the platform only prepares and submits it. */
export type HolderCall = Extract<NetworkCall, { kind: 'retire' | 'setAllowance' | 'depositOffRamp' }>;
