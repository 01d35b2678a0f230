/**
 * Public reads of tokens, each at one final block.
 */
import { decodeFunctionResult, encodeFunctionData } from 'viem';
import type { Address, Hex } from 'viem';
import { storableText } from '../foreignText.ts';
import { isNetworkError, noTokenAt } from '../port.ts';
import { requireRecordRange, requireTokenCount } from '../port/readLimits.ts';
import type { CarbonTotals, LedgerNetwork, RetirementPage, RetirementRecord, TokenAnswer } from '../port.ts';
import { normalizeAddress, requireAddress } from './addresses.ts';
import type { ContractRead, ReadAll, ReadAnswer } from './contractReads.ts';
import { carbonTokenAbi } from './contracts.ts';
import { BlockReorganised } from './finality.ts';
import type { Finality, Pin } from './finality.ts';
import { isTooLong } from './jsonRpc.ts';
import { amountView, EXPIRY, readTokens, RETIREMENT_COUNT, SUPPLY, TOTALS } from './tokenViews.ts';
import type { Read, View } from './tokenViews.ts';

/** Reading a record with the longest texts takes some 150,000 gas. */
const RECORDS_PER_MULTICALL = 50;

export function createTokenReads(finality: Finality, readAll: ReadAll) {
  const readViews = <T extends object>(texts: readonly string[], view: View<T>) =>
    readEach(finality, texts, (pin, tokens) => readTokens(readAll, pin, tokens, view));

  async function readAmount(text: string, view: View<{ amount: bigint }>): Promise<bigint> {
    const [answer] = await readViews([text], view);
    if (answer === undefined || 'error' in answer) throw answer?.error ?? noTokenAt(text);
    return answer.amount;
  }

  async function readTotals(pin: Pin, token: Address): Promise<CarbonTotals> {
    const [read] = await readTokens(readAll, pin, [token], TOTALS);
    if (read === undefined || isNetworkError(read)) throw read ?? noTokenAt(token);
    return read;
  }

  /**
   * Reads as many of the first records as have room in the answers: any holder can write a record as long as a
   * block takes, and a page of such records would fill the memory.
   */
  async function readFirst(pin: Pin, reads: readonly ContractRead[]): Promise<ReadAnswer[]> {
    try {
      return await readAll(pin, reads, { perMulticall: RECORDS_PER_MULTICALL });
    } catch (error) {
      if (reads.length === 1 || !isTooLong(error)) throw error;
      return readFirst(pin, reads.slice(0, Math.ceil(reads.length / 2)));
    }
  }

  async function readPage(pin: Pin, token: Address, from: number, limit: number): Promise<RetirementPage> {
    const totals = await readTotals(pin, token);
    const count = Math.max(0, Math.min(limit, totals.totalRetirements - from));
    const reads = Array.from({ length: count }, (_, at) => ({ target: token, data: recordData(from + at) }));
    const answers = await readFirst(pin, reads);
    const records = answers.map((answer, at) => readRecord(token, from + at, answer));
    return { totals, records, ...(pin.rewritten !== null && { rewritten: pin.rewritten }) };
  }

  return {
    carbonTotals: async (address) => {
      const token = requireAddress(address);
      return finality.onFinalBlock((pin) => readTotals(pin, token));
    },
    async retirementRecords(address, fromIndex, limit) {
      requireRecordRange(fromIndex, limit);
      const token = requireAddress(address);
      return finality.onFinalBlock((pin) => readPage(pin, token, fromIndex, limit));
    },
    retirementCountsOf: (addresses) => readViews(addresses, RETIREMENT_COUNT),
    expiryOf: (addresses) => readViews(addresses, EXPIRY),
    totalSupply: (address) => readAmount(address, SUPPLY),
    totalSuppliesOf: (addresses) => readViews(addresses, SUPPLY),
    balanceOf: async (address, holder) => readAmount(address, balanceView(holder)),
    balancesOf: async (addresses, holder) => readViews(addresses, balanceView(holder)),
  } satisfies Partial<LedgerNetwork>;
}

/** Reads all at one final block. A text that is no address gets its own error. */
async function readEach<T extends object>(
  finality: Finality,
  texts: readonly string[],
  read: (pin: Pin, tokens: readonly Address[]) => Promise<Read<T>[]>,
): Promise<TokenAnswer<T>[]> {
  requireTokenCount(texts.length);
  if (texts.length === 0) return [];
  const addresses = texts.map(normalizeAddress);
  const tokens = addresses.filter((address) => address !== null);
  const reads = await finality.onFinalBlock((pin) => read(pin, tokens));
  const byToken = new Map(tokens.map((token, at) => [token, reads[at]]));
  return texts.map((text, at) => {
    const token = addresses[at] ?? null;
    const tokenAddress = token ?? text;
    const found = (token && byToken.get(token)) ?? noTokenAt(text);
    return isNetworkError(found) ? { tokenAddress, error: found } : { tokenAddress, ...found };
  });
}

function balanceView(holder: string): View<{ amount: bigint }> {
  const args = [requireAddress(holder, 'OTHER')] as const;
  return amountView(encodeFunctionData({ abi: carbonTokenAbi, functionName: 'balanceOf', args }));
}

function recordData(index: number): Hex {
  return encodeFunctionData({ abi: carbonTokenAbi, functionName: 'getRetirement', args: [BigInt(index)] });
}

function textOf(bytes: Hex): string {
  return storableText(Buffer.from(bytes.slice(2), 'hex').toString('utf8'));
}

/** @throws BlockReorganised if the record is missing although the count at the same block includes it */
function readRecord(token: Address, index: number, answer: ReadAnswer): RetirementRecord {
  if (answer.kind !== 'returned') {
    throw new BlockReorganised(`Retirement ${index} of ${token} could not be read: ${answer.kind}`);
  }
  const { data } = answer;
  const record = decodeFunctionResult({ abi: carbonTokenAbi, functionName: 'getRetirement', data });
  const { retiredBy, amount, timestamp, beneficiary, retirementNote } = record;
  return {
    index,
    retiredBy: requireAddress(retiredBy.toLowerCase()),
    amount,
    timestamp,
    beneficiary: textOf(beneficiary),
    note: textOf(retirementNote),
  };
}
