/**
 * createDeposit: a confirmed deposit of a commodity becomes one receipt token, its kilograms minted to the farmer.
 *
 *   request ─▶ receipt DEPLOYING + deploy intent (one transaction)
 *           ─▶ deploy landed ─▶ MINTING + mint intent ─▶ mint final ─▶ ACTIVE
 *
 * The effects of the two network calls are in receiptEffects.ts.
 */
import { createHmac } from 'node:crypto';
import { eq, max, sql } from 'drizzle-orm';
import { unixSeconds } from '../clock.ts';
import type { Tx } from '../db/connection.ts';
import { receipts } from '../db/schema/index.ts';
import { DomainError } from '../errors.ts';
import { NetworkUnavailable } from '../ledger/network/port.ts';
import { enqueueSubmission } from '../ledger/submission/enqueue.ts';
import { NEW_SUBMISSION } from '../ledger/submission/submission.ts';
import { toBaseUnits, ZERO_HASH } from '../ledger/units.ts';
import { awaitSubject } from './awaitSubject.ts';
import type { Dependencies } from './dependencies.ts';
import { findReceiptById, type Receipt } from './findReceipt.ts';
import { reserveKey } from './idempotency.ts';

export const RECEIPT_TOKEN_SYMBOL = 'WHR';
/** 180 days: how long a deposit is stored. */
export const STORAGE_SECONDS = 15_552_000n;

export interface CreateDepositInput {
  farmerAddress: string;
  commodityType: string;
  /** Whole kilograms. */
  quantityKg: bigint;
  warehouseId: string;
  gradeClassification: string;
  /** Whole US dollars. */
  valuationUSD: bigint;
  warehouseLocation?: string | null | undefined;
  countryCode?: string | null | undefined;
  harvestSeason?: string | null | undefined;
  /** `0x` and 64 hexadecimal digits; all zero when there is no report. */
  inspectionReportHash?: string | null | undefined;
  /** The subject of the farmer's token, who may then see the receipt and cash it out. */
  farmerId?: string | null | undefined;
  idempotencyKey: string;
}

/**
 * @returns the receipt in the state reached when the wait ended.
 * @throws DomainError BAD_USER_INPUT, IDEMPOTENCY_CONFLICT, LEDGER_REJECTED
 */
export async function createDeposit(
  deps: Dependencies,
  warehouseOperatorId: string,
  input: CreateDepositInput,
): Promise<Receipt> {
  const receiptId = await record(deps, warehouseOperatorId, input);
  deps.subjects.ring(NEW_SUBMISSION);
  const receipt = await awaitSubject(
    deps,
    receiptId,
    () => requireReceipt(deps, receiptId),
    ({ state }) => state !== 'DEPLOYING' && state !== 'MINTING',
  );
  if (receipt.state === 'REFUSED') {
    throw new DomainError(
      'LEDGER_REJECTED',
      `The network refused the receipt's token: ${receipt.refusalMessage}`,
      { receiptId, assetId: receipt.assetId },
    );
  }
  return receipt;
}

/** Commits the receipt and the intent to deploy. @returns the receipt of the key's first use. */
async function record(
  deps: Dependencies,
  warehouseOperatorId: string,
  input: CreateDepositInput,
): Promise<string> {
  const { idempotencyKey, ...rest } = input;
  const farmerAddress = deps.network.normalizeAddress(input.farmerAddress);
  if (farmerAddress === null) {
    throw new DomainError(
      'BAD_USER_INPUT',
      `"${input.farmerAddress}" is not an address of the network "${deps.network.name}".`,
      { field: 'input.farmerAddress' },
    );
  }
  const id = deps.ids.next();
  const now = deps.clock.now();
  const depositDate = await networkTime(deps, now);
  const facts = factsOf(deps, { ...input, farmerAddress }, depositDate);
  const request = {
    callerId: warehouseOperatorId,
    operation: 'createDeposit',
    key: idempotencyKey,
    input: Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, value ?? null])),
  };
  return deps.db.transaction(async (tx) => {
    const first = await reserveKey(tx, request, id, now);
    if (first !== null) return first;
    const assetMillis = await nextAssetMillis(tx, input.warehouseId, now);
    const [receipt] = await tx
      .insert(receipts)
      .values({
        ...facts,
        id,
        state: 'DEPLOYING',
        assetMillis,
        assetId: `${input.warehouseId}-${assetMillis}`,
        confirmedBy: warehouseOperatorId,
        deploySalt: receiptSalt(deps.saltKey, id),
        createdAt: now,
      })
      .returning();
    if (!receipt) throw new Error(`receipt ${id} was not inserted`);
    await enqueueSubmission(tx, deps, { subjectId: id, call: deployCallOf(receipt) });
    return id;
  });
}

/** The network's clock decides about expiry, so its time is the deposit's; ours while it can't be asked. */
async function networkTime(deps: Dependencies, now: Date): Promise<bigint> {
  try {
    return (await deps.network.status()).closedAt;
  } catch (error) {
    if (error instanceof NetworkUnavailable) return unixSeconds(now);
    throw error;
  }
}

function factsOf(deps: Dependencies, input: CreateDepositInput, depositDate: bigint) {
  return {
    warehouseId: input.warehouseId,
    commodityType: input.commodityType,
    quantityKg: input.quantityKg,
    gradeClassification: input.gradeClassification,
    warehouseLocation: input.warehouseLocation ?? '',
    harvestSeason: input.harvestSeason ?? '',
    inspectionReportHash: input.inspectionReportHash ?? ZERO_HASH,
    valuationUsd: input.valuationUSD,
    countryCode: input.countryCode ?? deps.receiptCountryCode,
    tokenName: `${input.commodityType} ${input.warehouseId}`,
    tokenSymbol: RECEIPT_TOKEN_SYMBOL,
    farmerAddress: input.farmerAddress,
    farmerId: input.farmerId ?? null,
    depositDate,
    expiryDate: depositDate + STORAGE_SECONDS,
  };
}

/**
 * The deposit's millisecond, or the next one that this warehouse has not used: deposits of one warehouse take
 * turns, so that two in the same millisecond get two asset ids.
 */
async function nextAssetMillis(tx: Tx, warehouseId: string, now: Date): Promise<bigint> {
  await tx.execute(sql`SELECT pg_advisory_xact_lock(hashtextextended(${`receipt:${warehouseId}`}, 0))`);
  const [latest] = await tx
    .select({ assetMillis: max(receipts.assetMillis) })
    .from(receipts)
    .where(eq(receipts.warehouseId, warehouseId));
  const nowMillis = BigInt(now.getTime());
  const used = latest?.assetMillis ?? null;
  return used === null || used < nowMillis ? nowMillis : used + 1n;
}

/** Follows from the receipt's own id: a deploy that is signed again can't make a second token. */
function receiptSalt(saltKey: Uint8Array, receiptId: string): string {
  return `0x${createHmac('sha256', saltKey).update(`commodity:${receiptId}`).digest('hex')}`;
}

function deployCallOf(receipt: Receipt) {
  return {
    kind: 'deployCommodityReceipt',
    salt: receipt.deploySalt,
    name: receipt.tokenName,
    symbol: receipt.tokenSymbol,
    assetId: receipt.assetId,
    countryCode: receipt.countryCode,
    metadata: {
      commodityType: receipt.commodityType,
      quantityKg: receipt.quantityKg,
      gradeClassification: receipt.gradeClassification,
      warehouseId: receipt.warehouseId,
      warehouseLocation: receipt.warehouseLocation,
      depositDate: receipt.depositDate,
      expiryDate: receipt.expiryDate,
      inspectionReportHash: receipt.inspectionReportHash,
      valuationUSD: toBaseUnits(receipt.valuationUsd),
      harvestSeason: receipt.harvestSeason,
      lastUpdated: receipt.depositDate,
    },
  } as const;
}

async function requireReceipt(deps: Dependencies, id: string): Promise<Receipt> {
  const receipt = await findReceiptById(deps, id);
  if (!receipt) throw new Error(`receipt ${id} has vanished`);
  return receipt;
}
