/**
 * Public reads of tokens, each at one final block.
 */
import { decodeFunctionResult, encodeFunctionData } from 'viem';
import type { Address, Hex } from 'viem';
import { storableText } from '../foreignText.ts';
import { requireRecordRange, requireTokenCount } from '../port/readLimits.ts';
import type {
  ExpiryAnswer,
  LedgerNetwork,
  RetirementCountAnswer,
  RetirementPage,
  RetirementRecord,
} from '../port.ts';
import { normalizeAddress, requireAddress } from './addresses.ts';
import type { ReadAll, ReadAnswer } from './contractReads.ts';
import { carbonTokenAbi } from './contracts.ts';
import { VanishedBlock } from './finality.ts';
import type { Finality, Pin } from './finality.ts';
import {
  EXPIRY,
  isProblem,
  isWord,
  nothingAt,
  readTokens,
  RETIREMENT_COUNT,
  TOTALS,
  unavailable,
  viewData,
} from './tokenViews.ts';
import type { Read, View } from './tokenViews.ts';

type TokenReads = Pick<
  LedgerNetwork,
  'carbonTotals' | 'retirementRecords' | 'retirementCountsOf' | 'totalSupply' | 'balanceOf' | 'expiryOf'
>;

/** A record with the longest texts takes some 150,000 gas to read. */
const RECORDS_PER_MULTICALL = 50;

export function createTokenReads(finality: Finality, readAll: ReadAll): TokenReads {
  async function readMany<T>(
    texts: readonly string[],
    view: View<T>,
  ): Promise<{ tokenAddress: string; read: Read<T> }[]> {
    requireTokenCount(texts.length);
    if (texts.length === 0) return [];
    const addresses = texts.map(normalizeAddress);
    const tokens = addresses.filter((address) => address !== null);
    const reads = await finality.onFinalBlock((pin) => readTokens(readAll, pin, tokens, view));
    const byToken = new Map(tokens.map((token, at) => [token, reads[at]]));
    return texts.map((text, at) => {
      const token = addresses[at] ?? null;
      const read = token === null ? undefined : byToken.get(token);
      return { tokenAddress: token ?? text, read: read ?? nothingAt(text) };
    });
  }

  async function readOne<T>(pin: Pin, token: Address, view: View<T>): Promise<T> {
    const [read] = await readTokens(readAll, pin, [token], view);
    if (read === undefined || isProblem(read)) throw read ?? nothingAt(token);
    return read;
  }

  async function readPage(pin: Pin, token: Address, from: number, limit: number): Promise<RetirementPage> {
    const totals = await readOne(pin, token, TOTALS);
    const count = Math.max(0, Math.min(limit, totals.totalRetirements - from));
    const indexes = Array.from({ length: count }, (_, at) => from + at);
    const reads = indexes.map((index) => ({ target: token, data: recordData(index) }));
    const answers = await readAll(pin, reads, { perMulticall: RECORDS_PER_MULTICALL });
    const records = indexes.map((index, at) => readRecord(token, index, answers[at]));
    return { totals, records, ...(pin.rewritten !== null && { rewritten: pin.rewritten }) };
  }

  return {
    carbonTotals: async (address) => {
      const token = requireAddress(address);
      return finality.onFinalBlock((pin) => readOne(pin, token, TOTALS));
    },
    async retirementRecords(address, fromIndex, limit) {
      requireRecordRange(fromIndex, limit);
      const token = requireAddress(address);
      return finality.onFinalBlock((pin) => readPage(pin, token, fromIndex, limit));
    },
    async retirementCountsOf(addresses) {
      const reads = await readMany(addresses, RETIREMENT_COUNT);
      return reads.map(({ tokenAddress, read }): RetirementCountAnswer =>
        isProblem(read) ? { tokenAddress, error: read } : { tokenAddress, totalRetirements: read },
      );
    },
    async expiryOf(addresses) {
      const reads = await readMany(addresses, EXPIRY);
      return reads.map(({ tokenAddress, read }): ExpiryAnswer =>
        isProblem(read) ? { tokenAddress, error: read } : { tokenAddress, ...read },
      );
    },
    totalSupply: (address) =>
      readAnyToken(finality, readAll, address, viewData(carbonTokenAbi, 'totalSupply')),
    async balanceOf(address, holder) {
      const args = [requireAddress(holder, 'OTHER')] as const;
      const data = encodeFunctionData({ abi: carbonTokenAbi, functionName: 'balanceOf', args });
      return readAnyToken(finality, readAll, address, data);
    },
  };
}

/** Reads what every token has, of either template. */
async function readAnyToken(finality: Finality, readAll: ReadAll, text: string, data: Hex): Promise<bigint> {
  const token = requireAddress(text);
  const [answer] = await finality.onFinalBlock((pin) => readAll(pin, [{ target: token, data }]));
  if (!isWord(answer)) {
    if (answer?.kind === 'failed') throw unavailable(token, answer.error);
    throw nothingAt(token);
  }
  return BigInt(answer.data);
}

function recordData(index: number): Hex {
  return encodeFunctionData({ abi: carbonTokenAbi, functionName: 'getRetirement', args: [BigInt(index)] });
}

function textOf(bytes: Hex): string {
  return storableText(Buffer.from(bytes.slice(2), 'hex').toString('utf8'));
}

/** @throws VanishedBlock when the record is missing although the count at the same block includes it */
function readRecord(token: Address, index: number, answer: ReadAnswer | undefined): RetirementRecord {
  if (answer?.kind !== 'returned') {
    throw new VanishedBlock(`Retirement ${index} of ${token} could not be read: ${answer?.kind}`);
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
