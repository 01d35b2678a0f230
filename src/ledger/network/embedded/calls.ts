/**
 * The invocations that a transaction on this network can contain, and the schema that validates their bytes.
 *
 * An invocation is the port's `NetworkCall` with the settlement contract's address (which only the adapter's
 * configuration knows), or one of two that the platform never makes: a transfer, and a pause.
 */
import * as z from 'zod';
import { refused } from '../port.ts';
import type { Address, NetworkCall } from '../port.ts';
import { isAddress } from '../../../lib/strkey.ts';

type OffRampKind = 'depositOffRamp' | 'confirmOffRampSettlement' | 'refundOffRamp';

export type Invocation =
  | Exclude<NetworkCall, { kind: OffRampKind | 'setAllowance' }>
  | (Extract<NetworkCall, { kind: OffRampKind }> & { settlementAddress: Address })
  | { kind: 'transfer'; tokenAddress: Address; to: Address; amount: bigint }
  | { kind: 'setPaused'; contractAddress: Address; paused: boolean };

export const MAX_I128 = 2n ** 127n - 1n;
const MIN_I128 = -(2n ** 127n);
const MAX_U64 = 2n ** 64n - 1n;
const MAX_U32 = 2 ** 32 - 1;

/** The transaction's size limits the bytes of all texts. NUL and half surrogate pairs can't be stored. */
// eslint-disable-next-line no-control-regex
const UNSTORABLE = /[\u0000\p{Surrogate}]/u;
const text = z.string().refine((value) => !UNSTORABLE.test(value), 'holds a NUL or half a surrogate pair');
const address = z.string().refine(isAddress, 'is not a valid G… or C… address');
/** Any text: an unknown address is refused as CONTRACT_NOT_FOUND, as on a real network. */
const contractAddress = text;
const hash32 = z.string().regex(/^0x[0-9a-f]{64}$/, 'is not 0x and 64 lower-case hexadecimal digits');
const i128 = z.bigint().min(MIN_I128).max(MAX_I128);
const u64 = z.bigint().min(0n).max(MAX_U64);

const deploy = { salt: hash32, name: text, symbol: text, assetId: text, countryCode: text };

const carbonMetadata = z.strictObject({
  creditType: text,
  verificationBodyRef: text,
  vintageYear: z.int().min(0).max(MAX_U32),
  quantityCO2e: i128,
  projectLocation: text,
  projectType: text,
  verificationDocHash: hash32,
  lastUpdated: u64,
});

const commodityMetadata = z.strictObject({
  commodityType: text,
  quantityKg: i128,
  gradeClassification: text,
  warehouseId: text,
  warehouseLocation: text,
  depositDate: u64,
  expiryDate: u64,
  inspectionReportHash: hash32,
  valuationUSD: i128,
  harvestSeason: text,
  lastUpdated: u64,
});

const offRamp = { settlementAddress: contractAddress, sessionId: text };

const invocationSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('deployCarbonCredit'), ...deploy, metadata: carbonMetadata }),
  z.strictObject({ kind: z.literal('deployCommodityReceipt'), ...deploy, metadata: commodityMetadata }),
  z.strictObject({ kind: z.literal('deployRampSettlement'), salt: hash32, treasury: address }),
  z.strictObject({ kind: z.literal('mint'), tokenAddress: contractAddress, to: address, amount: i128 }),
  z.strictObject({
    kind: z.literal('retire'),
    tokenAddress: contractAddress,
    amount: i128,
    beneficiary: text,
    note: text,
  }),
  z.strictObject({ kind: z.literal('markExpired'), tokenAddress: contractAddress }),
  z.strictObject({
    kind: z.literal('depositOffRamp'),
    ...offRamp,
    tokenAddress: contractAddress,
    amount: i128,
  }),
  z.strictObject({ kind: z.literal('confirmOffRampSettlement'), ...offRamp }),
  z.strictObject({ kind: z.literal('refundOffRamp'), ...offRamp }),
  z.strictObject({ kind: z.literal('transfer'), tokenAddress: contractAddress, to: address, amount: i128 }),
  z.strictObject({ kind: z.literal('setPaused'), contractAddress, paused: z.boolean() }),
]);

/** @throws NetworkRefusal OTHER, which names each argument that no contract could take */
export function checkInvocation(value: unknown): Invocation {
  const parsed = invocationSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'call'}: ${issue.message}`);
  throw refused('OTHER', `Invalid arguments: ${problems.join('; ')}`);
}
