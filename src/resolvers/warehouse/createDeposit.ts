/**
 * createDeposit: deploys the receipt token of a confirmed deposit and mints its kilograms to the farmer.
 *
 *   request ─▶ receipt DEPLOYING + deploy intent (one transaction)
 *           ─▶ deploy landed ─▶ MINTING + mint intent ─▶ mint final ─▶ ACTIVE
 *
 * The effects of the two network calls are in ../core/tokenEffects.ts, and what they store in receiptToken.
 */
import { eq, max } from 'drizzle-orm';
import { unixSeconds } from '../../lib/clock.ts';
import type { Tx } from '../../db/connection.ts';
import { readDatabaseTime } from '../../db/databaseTime.ts';
import { requireById, updateById } from '../../db/findByIds.ts';
import { receipts } from '../../db/tables/index.ts';
import { DomainError, nullFor } from '../../lib/errors.ts';
import { NetworkUnavailable, type LedgerNetwork } from '../../ledger/network/port.ts';
import { enqueueSubmission } from '../../ledger/submission/enqueue.ts';
import { toBaseUnits } from '../../ledger/units.ts';
import { awaitDeployed } from '../core/awaitState.ts';
import { deploySaltOf } from '../core/deploySalt.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Grant } from '../core/grant.ts';
import { findProjectByToken } from '../carbon/findProject.ts';
import { findReceiptByToken, type Receipt } from './findReceipt.ts';
import { lockWarehouse, requireWithinCap } from './issuanceCaps.ts';
import { reserveKey, type IdempotentRequest } from '../core/idempotency.ts';
import { dryRun } from '../core/dryRun.ts';
import { requireAddress } from '../core/addresses.ts';
import type { AssetToken } from '../core/tokenEffects.ts';

type RecordNeeds = Needs<'db' | 'network' | 'clock' | 'ids' | 'saltKey'>;
type CreateDepositNeeds = Needs<keyof RecordNeeds | 'stateSignal' | 'mutationWaitMs'>;

export const RECEIPT_TOKEN_SYMBOL = 'WHR';
/**
 * Maximum age of the final block that dates a deposit. Ethereum's is a quarter of an hour old. An idle
 * chain's may be days old, and the receipt would expire days too soon.
 */
const LONGEST_FINALITY_SECONDS = 3_600n;
/** Time from the deposit to the expiry: 180 days. */
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
  countryCode: string;
  harvestSeason?: string | null | undefined;
  /** `0x` and 64 hexadecimal digits; all zero when there is no report. */
  inspectionReportHash: string;
  /** The subject of the farmer's token, who may then see the receipt and cash it out. */
  farmerId?: string | null | undefined;
  idempotencyKey: string;
}

/**
 * @param grant of a request for approval, which has reserved the idempotency key already
 * @returns the receipt in the state reached when the wait ended.
 * @throws DomainError BAD_USER_INPUT, ISSUANCE_CAP_EXCEEDED, IDEMPOTENCY_CONFLICT, LEDGER_REFUSED
 */
export async function createDeposit(
  deps: CreateDepositNeeds,
  warehouseOperatorId: string,
  input: CreateDepositInput,
  grant?: Grant,
): Promise<Receipt> {
  const receiptId = await record(deps, warehouseOperatorId, input, grant);
  const read = () => requireById(deps.db, receipts, receiptId);
  return awaitDeployed(deps, receiptId, read, "The receipt's token", ({ assetId }) => ({
    receiptId,
    assetId,
  }));
}

/** The receipt that a deposit would become. */
export type DepositDryRun = Pick<Receipt, 'assetId' | 'tokenName' | 'depositDate' | 'expiryDate'>;

/**
 * Makes every check of the deposit, and changes nothing.
 * @throws the same errors as createDeposit, except IDEMPOTENCY_CONFLICT
 */
export async function dryRunDeposit(
  deps: RecordNeeds,
  warehouseOperatorId: string,
  input: CreateDepositInput,
): Promise<DepositDryRun> {
  const id = deps.ids.next();
  const createdAt = deps.clock.now();
  const facts = await checkedFacts(deps, input);
  return dryRun(deps.db, (tx) =>
    insertReceipt(tx, deps, { ...facts, id, createdAt, confirmedBy: warehouseOperatorId }),
  );
}

/** Commits the receipt and the intent to deploy. @returns the receipt of the key's first use. */
async function record(
  deps: RecordNeeds,
  warehouseOperatorId: string,
  input: CreateDepositInput,
  grant: Grant | undefined,
): Promise<string> {
  const id = grant?.requestId ?? deps.ids.next();
  const now = deps.clock.now();
  const facts = await checkedFacts(deps, input);
  return deps.db.transaction(async (tx) => {
    const first = grant ? null : await reserveKey(tx, depositRequest(deps, warehouseOperatorId, input), id);
    if (first !== null) return first;
    await grant?.confirm(tx);
    const receipt = await insertReceipt(tx, deps, {
      ...facts,
      id,
      createdAt: now,
      confirmedBy: warehouseOperatorId,
    });
    await enqueueSubmission(tx, deps, { targetType: 'RECEIPT', targetId: id, call: deployCallOf(receipt) });
    return id;
  });
}

export function depositRequest(
  { network }: Needs<'network'>,
  warehouseOperatorId: string,
  input: CreateDepositInput,
): IdempotentRequest {
  const { idempotencyKey, ...rest } = input;
  const farmerAddress = network.normalizeAddress(input.farmerAddress) ?? input.farmerAddress;
  return {
    callerSubject: warehouseOperatorId,
    operation: 'createDeposit',
    key: idempotencyKey,
    input: { ...rest, farmerAddress },
  };
}

type ReceiptFacts = ReturnType<typeof factsOf> & Pick<Receipt, 'id' | 'createdAt' | 'confirmedBy'>;

async function checkedFacts(deps: Needs<'db' | 'network'>, input: CreateDepositInput) {
  const farmerAddress = requireAddress(deps, input.farmerAddress, 'input.farmerAddress');
  const { custodyAddress, signingOrder } = deps.network;
  const refuse = (why: string) => {
    const message = `${farmerAddress} ${why}. Take the farmer's own address, or custody's, ${custodyAddress}.`;
    throw new DomainError('BAD_USER_INPUT', message, { field: 'input.farmerAddress' });
  };
  if (farmerAddress !== custodyAddress && signingOrder?.accounts.includes(farmerAddress)) {
    refuse('only signs for the platform: nothing that it holds can be cashed out');
  }
  const [now, ledger, settlement, ...tokens] = await Promise.all([
    readDatabaseTime(deps.db),
    ifAvailable(deps.network.status()),
    farmerAddress === custodyAddress ? null : ifAvailable(deps.network.settlementContract()),
    findReceiptByToken(deps, farmerAddress),
    findProjectByToken(deps, farmerAddress),
  ]);
  if (farmerAddress === settlement?.address) {
    refuse(
      'is the settlement contract, which releases nothing but deposits of cash-outs: kilograms minted to it would stay there',
    );
  }
  const token = tokens.find((found) => found !== null);
  if (token) refuse(`is the token of "${token.assetId}": kilograms minted to it would stay there`);
  return factsOf({ ...input, farmerAddress }, depositDateOf(unixSeconds(now), ledger?.closedAt ?? 0n));
}

async function insertReceipt(tx: Tx, deps: Needs<'saltKey'>, facts: ReceiptFacts): Promise<Receipt> {
  await lockWarehouse(tx, facts.warehouseId);
  const [assetMillis] = await Promise.all([nextAssetMillis(tx, facts), requireWithinCap(tx, facts)]);
  const [receipt] = await tx
    .insert(receipts)
    .values({
      ...facts,
      state: 'DEPLOYING',
      assetMillis,
      assetId: `${facts.warehouseId}-${assetMillis}`,
      deploySalt: deploySaltOf(deps, `commodity:${facts.id}`),
    })
    .returning();
  if (!receipt) throw new Error(`receipt ${facts.id} was not inserted`);
  return receipt;
}

/**
 * The network's clock decides the expiry, so it dates the deposit. While the network is unavailable or idle,
 * the database's clock does.
 */
function depositDateOf(now: bigint, closedAt: bigint): bigint {
  return now - closedAt > LONGEST_FINALITY_SECONDS ? now : closedAt;
}

/** Returns null while the network is unavailable, so that deposits are accepted meanwhile. */
async function ifAvailable<Answer>(answer: Promise<Answer>): Promise<Answer | null> {
  return answer.catch(nullFor(NetworkUnavailable));
}

function factsOf(input: CreateDepositInput, depositDate: bigint) {
  const { idempotencyKey: _key, valuationUSD: valuationUsd, ...described } = input;
  return {
    ...described,
    valuationUsd,
    warehouseLocation: input.warehouseLocation ?? '',
    harvestSeason: input.harvestSeason ?? '',
    farmerId: input.farmerId ?? null,
    tokenName: `${input.commodityType} ${input.warehouseId}`,
    tokenSymbol: RECEIPT_TOKEN_SYMBOL,
    depositDate,
    expiryDate: depositDate + STORAGE_SECONDS,
  };
}

/**
 * The deposit's millisecond, or the next one that this warehouse has not used. Call it under the warehouse's
 * lock, so that two deposits in the same millisecond get different asset ids.
 */
async function nextAssetMillis(
  tx: Tx,
  { warehouseId, createdAt }: Pick<Receipt, 'warehouseId' | 'createdAt'>,
): Promise<bigint> {
  const [latest] = await tx
    .select({ assetMillis: max(receipts.assetMillis) })
    .from(receipts)
    .where(eq(receipts.warehouseId, warehouseId));
  const nowMillis = BigInt(createdAt.getTime());
  const used = latest?.assetMillis ?? null;
  return used === null || used < nowMillis ? nowMillis : used + 1n;
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

/** How a receipt stores its token's deploy and mint. */
export function receiptToken({ network }: { network: Pick<LedgerNetwork, 'totalSupply'> }): AssetToken {
  return {
    targetType: 'RECEIPT',
    async setState(tx, id, state, stateReason) {
      await updateById(tx, receipts, id, { state, stateReason });
    },
    async deployed(tx, id, tokenAddress) {
      const { farmerAddress, quantityKg } = await updateById(tx, receipts, id, {
        tokenAddress,
        state: 'MINTING',
        stateReason: null,
      });
      return { to: farmerAddress, amount: toBaseUnits(quantityKg) };
    },
    async minted(tx, id, activatedAt) {
      await updateById(tx, receipts, id, { state: 'ACTIVE', activatedAt, stateReason: null });
    },
    // No receipt's token is ever burned.
    readMinted: (tokenAddress) => network.totalSupply(tokenAddress),
  };
}
