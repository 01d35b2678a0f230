/**
 * Compares every warehouse receipt with its token on the network, and each settlement contract's balance of
 * the token with the contract's open off-ramp sessions. One read of each kind compares a page of receipts:
 * single reads would take hours for a million receipts.
 */
import { and, isNotNull, sql, type SQL } from 'drizzle-orm';
import { isOneOf } from '../db/manyRows.ts';
import { offRampSessions, receipts } from '../db/tables/index.ts';
import {
  NetworkRefusal,
  NetworkUnavailable,
  type Address,
  type AmountAnswer,
} from '../ledger/network/port.ts';
import { toBaseUnits } from '../ledger/units.ts';
import { largest, smallest } from '../lib/bigints.ts';
import type { ReconcileDependencies } from './reconcileProject.ts';
import { createQuestions, orNotAnswered } from './questions.ts';
import { PAGE_SIZE, pagesById } from './pagesById.ts';
import { add, broken, nothingCompared, unproved, type Comparison, type Invariant } from './verdicts.ts';

interface ReceiptReconciliation extends Comparison {
  receipts: number;
  /** Receipts that could not be compared completely. */
  unsettledReceipts: number;
}

type Dependencies = Pick<ReconcileDependencies, 'db' | 'network' | 'isStill'> & {
  /** In an incremental run, the compared receipts. */
  receiptIds?: readonly string[];
};

type ComparedReceipt = Pick<typeof receipts.$inferSelect, 'id' | 'assetId' | 'quantityKg'> & {
  tokenAddress: string;
  isMinted: boolean;
  /** The state of its mint while that is not settled; otherwise null. */
  openMint: 'PENDING' | 'NEEDS_REVIEW' | null;
  /** The settlement contracts of its off-ramp sessions: another contract may be in use now, or none. */
  settlementAddresses: string[];
};

export async function reconcileReceipts(
  deps: Dependencies,
  onProgress: (done: number) => void = () => {},
): Promise<ReceiptReconciliation> {
  const report: ReceiptReconciliation = { receipts: 0, unsettledReceipts: 0, ...nothingCompared() };
  let inUse: string | undefined;
  const readSettlement = async () => {
    inUse = (await deps.network.settlementContract())?.address;
    return nothingCompared();
  };
  add(report, await orNotAnswered(['I9'], 'the settlement contract', readSettlement()));
  const questions = createQuestions({
    invariants: ['I3', 'I9'],
    noun: `pages of up to ${PAGE_SIZE} receipts`,
    concurrency: 1,
  });
  for await (const page of pagesById(receipts.id, deps.receiptIds, selectReceipts(deps))) {
    // If ids are given, a page may have no receipt to compare.
    if (page.length === 0) continue;
    let settled = 0;
    await questions.askAll([page], nameOfPage, async () => {
      const compared = await comparePage(deps, page, inUse);
      settled = compared.filter(({ comparison }) => comparison.notProved.length === 0).length;
      report.receipts += page.length;
      onProgress(report.receipts);
      return sumOf(compared);
    });
    report.unsettledReceipts += page.length - settled;
  }
  add(report, questions.sum());
  return report;
}

const selectReceipts =
  ({ db }: Dependencies) =>
  (where: SQL | undefined) =>
    db
      .select({
        id: receipts.id,
        assetId: receipts.assetId,
        quantityKg: receipts.quantityKg,
        tokenAddress: sql<string>`${receipts.tokenAddress}`,
        isMinted: sql<boolean>`${receipts.state} IN ('ACTIVE', 'EXPIRED')`,
        // The table by its name: Drizzle writes only the column of a query's only table, which would then be
        // the submission's or the session's.
        openMint: sql<ComparedReceipt['openMint']>`(SELECT max(s.state) FROM submissions s
          WHERE s.target_id = receipts.id AND s.kind = 'mint' AND s.state IN ('PENDING', 'NEEDS_REVIEW'))`,
        settlementAddresses: sql<string[]>`(SELECT coalesce(jsonb_agg(DISTINCT s.settlement_address), '[]')
          FROM off_ramp_sessions s WHERE s.receipt_id = receipts.id)`,
      })
      .from(receipts)
      .where(and(isNotNull(receipts.tokenAddress), where));

function nameOfPage(page: readonly ComparedReceipt[]): string {
  return `${page.length} receipts from ${page[0]?.assetId} on`;
}

/** A receipt, and its comparison so far. */
interface Compared {
  receipt: ComparedReceipt;
  comparison: Comparison;
}

async function comparePage(
  deps: Dependencies,
  receiptsOfPage: readonly ComparedReceipt[],
  inUse: Address | undefined,
): Promise<Compared[]> {
  const page = receiptsOfPage.map((receipt) => ({ receipt, comparison: nothingCompared() }));
  await compareSupplies(deps, page);
  const addresses = new Set(page.flatMap(({ receipt }) => receipt.settlementAddresses));
  if (inUse !== undefined) addresses.add(inUse);
  for (const address of addresses) {
    const holding = page.filter(
      ({ receipt }) => address === inUse || receipt.settlementAddresses.includes(address),
    );
    await compareCustody(deps, holding, address);
  }
  return page;
}

/** A page is answered if one of its receipts is: a bad token does not mean that the network is silent. */
function sumOf(page: readonly Compared[]): Comparison & { isAnswered: boolean } {
  const sum = nothingCompared();
  for (const { comparison } of page) add(sum, comparison);
  const isAnswered = page.some(({ comparison }) =>
    comparison.notProved.every(({ obstacle }) => obstacle !== 'NO_ANSWER'),
  );
  return { ...sum, isAnswered };
}

/** A receipt token is minted once and never burned. While its mint is not settled, it may have landed. */
async function compareSupplies(
  { network, isStill = false }: Dependencies,
  page: readonly Compared[],
): Promise<void> {
  const answers = await askAbout(page, (tokens) => network.totalSuppliesOf(tokens));
  for (const [at, compared] of page.entries()) {
    const minted = amountOf(compared, answers[at], 'I3');
    const { assetId, quantityKg, isMinted, openMint } = compared.receipt;
    const deposited = toBaseUnits(quantityKg);
    if (minted === null || minted === (isMinted ? deposited : 0n)) continue;
    const message =
      `${assetId}: ${minted} base units were minted, ${deposited} were deposited` +
      (isMinted ? '' : ', and no mint of it has succeeded');
    const mayHaveLanded = !isMinted && openMint !== null && minted === deposited && !isStill;
    const obstacle = openMint === 'PENDING' ? 'UNDER_WAY' : 'UNDER_REVIEW';
    add(compared.comparison, mayHaveLanded ? unproved(['I3'], obstacle, message) : broken('I3', message));
  }
}

/** A settlement contract's amounts of a receipt's token, by the off-ramp sessions. */
interface Deposits {
  openKg: bigint;
  /** Amounts that unsettled calls may have deposited or released. */
  comingKg: bigint;
  leavingKg: bigint;
  isReviewed: boolean;
}

const NO_DEPOSITS: Deposits = { openKg: 0n, comingKg: 0n, leavingKg: 0n, isReviewed: false };

/**
 * The deposits by receipt, for receipts that have sessions with the contract. A wallet may send a signed
 * deposit at any moment, without the platform, and also after the session was closed. A holder may get back
 * less than was agreed.
 * @param isStill no call is on its way to the network
 */
async function readDeposits(
  { db, isStill = false }: Pick<Dependencies, 'db' | 'isStill'>,
  receiptIds: readonly string[],
  settlementAddress: Address,
): Promise<ReadonlyMap<string, Deposits>> {
  const rows = await db.execute<{
    id: string;
    open: string;
    coming: string;
    leaving: string;
    reviewed: boolean;
  }>(sql`
    SELECT c.receipt_id AS id, coalesce(sum(c.token_amount_kg) FILTER (WHERE c.is_open), 0)::text AS open,
      coalesce(sum(c.token_amount_kg) FILTER (WHERE c.deposited_at IS NULL AND (c.by_holder OR (c.is_under_way AND NOT ${isStill}))), 0)::text AS coming,
      coalesce(sum(c.token_amount_kg) FILTER (WHERE c.is_open AND ((c.is_under_way AND NOT ${isStill}) OR c.is_given_back)), 0)::text AS leaving,
      coalesce(bool_or(c.state = 'NEEDS_REVIEW'), false) AS reviewed
    FROM (SELECT *, deposited_at IS NOT NULL AND released_at IS NULL AS is_open,
        depositor = 'HOLDER' AND provider_session_id IS NOT NULL AS by_holder,
        depositor = 'HOLDER' AND resolution = 'REFUND' AS is_given_back,
        EXISTS (SELECT 1 FROM submissions s WHERE s.target_id = off_ramp_sessions.id AND s.state IN ('PENDING', 'NEEDS_REVIEW')) AS is_under_way
      FROM off_ramp_sessions WHERE ${isOneOf(offRampSessions.receiptId, receiptIds)} AND settlement_address = ${settlementAddress}) AS c
    GROUP BY c.receipt_id`);
  return new Map(
    rows.map(({ id, open, coming, leaving, reviewed: isReviewed }) => [
      id,
      { openKg: BigInt(open), comingKg: BigInt(coming), leavingKg: BigInt(leaving), isReviewed },
    ]),
  );
}

async function compareCustody(
  deps: Dependencies,
  page: readonly Compared[],
  settlementAddress: Address,
): Promise<void> {
  const ids = page.map(({ receipt }) => receipt.id);
  const before = await readDeposits(deps, ids, settlementAddress);
  const answers = await askAbout(page, (tokens) => deps.network.balancesOf(tokens, settlementAddress));
  const after = await readDeposits(deps, ids, settlementAddress);
  for (const [at, compared] of page.entries()) {
    const held = amountOf(compared, answers[at], 'I9');
    if (held === null) continue;
    const { id, assetId } = compared.receipt;
    const bounds = { before: before.get(id) ?? NO_DEPOSITS, after: after.get(id) ?? NO_DEPOSITS };
    const contract = `${assetId}: the settlement contract ${settlementAddress}`;
    const found = compareHeld(contract, held, bounds);
    // While a page is read, a session may be opened and settled: neither reading shows it, but the balance
    // does.
    if (found.findings.length > 0 && page.length > 1)
      await compareCustody(deps, [compared], settlementAddress);
    else add(compared.comparison, found);
  }
}

/**
 * While calls are under way, the contract's balance lies between the least and the most that the calls can
 * leave there.
 * @param contract the beginning of the message
 */
export function compareHeld(
  contract: string,
  held: bigint,
  { before, after }: { before: Deposits; after: Deposits },
): Comparison {
  const isSettled = before.openKg === after.openKg && before.leavingKg + after.leavingKg === 0n;
  // Deposits only add up, so a balance that equals the open sessions contains all of them.
  if (isSettled && held === toBaseUnits(after.openKg)) return nothingCompared();
  const lowest = toBaseUnits(smallest(before.openKg - before.leavingKg, after.openKg - after.leavingKg));
  const highest = toBaseUnits(largest(before.openKg + before.comingKg, after.openKg + after.comingKg));
  const message = `${contract} holds ${held} base units, open off-ramp sessions say ${toBaseUnits(after.openKg)}`;
  if (held < lowest || held > highest) return broken('I9', message);
  const reason = `${after.comingKg} kg may be on their way in, and ${after.leavingKg} kg on their way out`;
  const obstacle = after.isReviewed ? 'UNDER_REVIEW' : 'UNDER_WAY';
  return unproved(['I9'], obstacle, `${message}; ${reason}`);
}

/**
 * Asks about each token of the page, in order. The network's silence, or its refusal of the whole request, is
 * the answer for each.
 */
async function askAbout(
  page: readonly Compared[],
  read: (tokenAddresses: readonly Address[]) => Promise<AmountAnswer[]>,
): Promise<AmountAnswer[]> {
  const tokens = page.map(({ receipt }) => receipt.tokenAddress);
  try {
    return await read(tokens);
  } catch (error) {
    if (!(error instanceof NetworkUnavailable || error instanceof NetworkRefusal)) throw error;
    return tokens.map((tokenAddress) => ({ tokenAddress, error }));
  }
}

/** @returns null when the network gives no amount; the comparison then says why */
function amountOf(
  { receipt, comparison }: Compared,
  answer: AmountAnswer | undefined,
  invariant: Invariant,
): bigint | null {
  if (answer === undefined) throw new Error(`the network has left out ${receipt.tokenAddress}`);
  if ('amount' in answer) return answer.amount;
  const { assetId, tokenAddress } = receipt;
  const { error } = answer;
  if (error instanceof NetworkUnavailable) {
    add(comparison, unproved([invariant], 'NO_ANSWER', `${assetId}: ${error.message}`));
  } else {
    const unreadable = `${assetId}: token ${tokenAddress} can't be read`;
    // Said once: the network's reason may name the function that was asked for.
    if (!comparison.findings.some(({ message }) => message.startsWith(unreadable))) {
      const message = `${unreadable}: ${error.message} (${error.reason})`;
      comparison.findings.push({ invariant: 'I3', message });
    }
  }
  return null;
}
