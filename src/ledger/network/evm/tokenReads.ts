/**
 * Public reads of tokens, each at one final block.
 *
 * Templates are recognised by the functions that answer: only carbon credits count retirements, only commodity
 * receipts expire. So tokens of any factory can be read, and a contract that is no token is refused.
 */
import { decodeFunctionResult, encodeFunctionData } from 'viem';
import type { Address, Hex } from 'viem';
import { storableText } from '../foreignText.ts';
import { NetworkRefusal, NetworkUnavailable } from '../port.ts';
import { requireRecordRange, requireTokenCount } from '../port/readLimits.ts';
import type {
  CarbonTotals,
  ExpiryAnswer,
  LedgerNetwork,
  ReceiptStatus,
  RetirementCountAnswer,
  RetirementPage,
  RetirementRecord,
} from '../port.ts';
import { normalizeAddress, requireAddress } from './addresses.ts';
import type { ContractRead, ReadAll, ReadAnswer } from './contractReads.ts';
import { carbonTokenAbi, commodityTokenAbi } from './contracts.ts';
import { VanishedBlock } from './finality.ts';
import type { Finality, Pin } from './finality.ts';

type TokenReads = Pick<
  LedgerNetwork,
  'carbonTotals' | 'retirementRecords' | 'retirementCountsOf' | 'totalSupply' | 'balanceOf' | 'expiryOf'
>;

type Problem = NetworkRefusal | NetworkUnavailable;

/** A record with the longest texts takes some 150,000 gas to read. */
const RECORDS_PER_MULTICALL = 50;

const STATUSES: readonly ReceiptStatus[] = ['DRAFT', 'ACTIVE', 'SUSPENDED', 'REDEEMED', 'EXPIRED'];

export function createTokenReads(finality: Finality, readAll: ReadAll): TokenReads {
  /** What `view` makes of each token's answers, or the token's error. */
  async function readTokens<T>(
    pin: Pin,
    tokens: readonly Address[],
    view: View<T>,
  ): Promise<(T | Problem)[]> {
    const reads = tokens.flatMap((target) => view.data.map((data) => ({ target, data })));
    const answers = await readAll(pin, reads);
    const perToken = tokens.map((_, at) => answers.slice(at * view.data.length, (at + 1) * view.data.length));
    const values = perToken.map((own) => decodeAll(view, own));
    const badTokens = tokens.filter((_, at) => values[at] === null);
    const probes = await probeAll(pin, badTokens, view);
    return tokens.map((token, at) => {
      const value = values[at] ?? null;
      return value ?? problemOf(view, token, perToken[at] ?? [], probes.get(token));
    });
  }

  /** Whether the tokens without an answer for `view` are of the other template. */
  async function probeAll(
    pin: Pin,
    tokens: readonly Address[],
    { otherTemplate }: View<unknown>,
  ): Promise<Map<Address, boolean>> {
    const reads = tokens.map((target): ContractRead => ({ target, data: otherTemplate.data }));
    const answers = await readAll(pin, reads);
    return new Map(
      tokens.map((token, at) => {
        const answer = answers[at];
        return [token, isWord(answer) && BigInt(answer.data) <= otherTemplate.highest];
      }),
    );
  }

  async function readMany<T>(
    texts: readonly string[],
    view: View<T>,
  ): Promise<{ tokenAddress: string; read: T | Problem }[]> {
    requireTokenCount(texts.length);
    if (texts.length === 0) return [];
    const addresses = texts.map(normalizeAddress);
    const tokens = addresses.filter((address) => address !== null);
    const reads = await finality.onFinalBlock((pin) => readTokens(pin, tokens, view));
    const byToken = new Map(tokens.map((token, at) => [token, reads[at]]));
    return texts.map((text, at) => {
      const token = addresses[at] ?? null;
      const read = token === null ? undefined : byToken.get(token);
      return { tokenAddress: token ?? text, read: read ?? nothingAt(text) };
    });
  }

  async function readOne<T>(pin: Pin, token: Address, view: View<T>): Promise<T> {
    const [read] = await readTokens(pin, [token], view);
    if (read === undefined || isProblem(read)) throw read ?? nothingAt(token);
    return read;
  }

  async function readPage(pin: Pin, token: Address, from: number, limit: number): Promise<RetirementPage> {
    const totals = await readOne(pin, token, TOTALS);
    const count = Math.max(0, Math.min(limit, totals.totalRetirements - from));
    const indexes = Array.from({ length: count }, (_, at) => from + at);
    const reads = indexes.map((index) => ({ target: token, data: recordData(index) }));
    const answers = await readAll(pin, reads, { perMulticall: RECORDS_PER_MULTICALL });
    return { totals, records: indexes.map((index, at) => readRecord(token, index, answers[at])) };
  }

  async function readAnyToken(text: string, data: Hex): Promise<bigint> {
    const token = requireAddress(text);
    const [answer] = await finality.onFinalBlock((pin) => readAll(pin, [{ target: token, data }]));
    if (!isWord(answer)) {
      if (answer?.kind === 'failed') throw unavailable(token, answer.error);
      throw nothingAt(token);
    }
    return BigInt(answer.data);
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
    totalSupply: (address) => readAnyToken(address, viewData(carbonTokenAbi, 'totalSupply')),
    async balanceOf(address, holder) {
      const args = [requireAddress(holder, 'OTHER')] as const;
      const data = encodeFunctionData({ abi: carbonTokenAbi, functionName: 'balanceOf', args });
      return readAnyToken(address, data);
    },
  };
}

/** The reads of one template, and how to recognise the other one. */
interface View<T> {
  template: string;
  data: readonly Hex[];
  /** @throws when the answers are not what the template gives */
  decode: (answers: readonly Hex[]) => T;
  otherTemplate: { name: string; data: Hex; highest: bigint };
}

const retirementCountData = viewData(carbonTokenAbi, 'totalRetirements');
const isExpiredData = viewData(commodityTokenAbi, 'isExpired');
const carbon = {
  template: 'carbon-credit',
  otherTemplate: { name: 'commodity', data: isExpiredData, highest: 1n },
};
const commodity = {
  template: 'commodity',
  otherTemplate: {
    name: 'carbon-credit',
    data: retirementCountData,
    highest: BigInt(Number.MAX_SAFE_INTEGER),
  },
};

const TOTALS: View<CarbonTotals> = {
  ...carbon,
  data: [
    viewData(carbonTokenAbi, 'totalSupply'),
    viewData(carbonTokenAbi, 'totalRetired'),
    retirementCountData,
  ],
  decode: ([supply, retired, retirements]) => ({
    totalSupply: wordOf(supply),
    totalRetired: wordOf(retired),
    totalRetirements: countOf(retirements),
  }),
};

const RETIREMENT_COUNT: View<number> = {
  ...carbon,
  data: [retirementCountData],
  decode: ([retirements]) => countOf(retirements),
};

const EXPIRY: View<{ isExpired: boolean; status: ReceiptStatus }> = {
  ...commodity,
  data: [isExpiredData, viewData(commodityTokenAbi, 'status')],
  decode: ([expired, status]) => ({
    isExpired: decodeFunctionResult({
      abi: commodityTokenAbi,
      functionName: 'isExpired',
      data: expired ?? '0x',
    }),
    status: statusOf(countOf(status)),
  }),
};

type NoArgumentView = 'totalSupply' | 'totalRetired' | 'totalRetirements' | 'isExpired' | 'status';

function viewData(abi: typeof carbonTokenAbi | typeof commodityTokenAbi, functionName: NoArgumentView): Hex {
  return encodeFunctionData({ abi: [...abi], functionName });
}

function recordData(index: number): Hex {
  return encodeFunctionData({ abi: carbonTokenAbi, functionName: 'getRetirement', args: [BigInt(index)] });
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
    beneficiary: storableText(beneficiary),
    note: storableText(retirementNote),
  };
}

function decodeAll<T>(view: View<T>, answers: readonly ReadAnswer[]): T | null {
  const data = answers.flatMap((answer) => (answer.kind === 'returned' ? [answer.data] : []));
  if (data.length < view.data.length) return null;
  try {
    return view.decode(data);
  } catch {
    return null;
  }
}

function problemOf(
  view: View<unknown>,
  token: Address,
  answers: readonly ReadAnswer[],
  isOtherTemplate: boolean | undefined,
): Problem {
  const failed = answers.find((answer) => answer.kind === 'failed');
  if (failed) return unavailable(token, failed.error);
  if (!isOtherTemplate) return nothingAt(token);
  return new NetworkRefusal({
    reason: 'WRONG_TEMPLATE',
    message: `${token} is a ${view.otherTemplate.name} token, not a ${view.template} token`,
  });
}

function nothingAt(address: string): NetworkRefusal {
  return new NetworkRefusal({
    reason: 'CONTRACT_NOT_FOUND',
    message: `No token stands at ${address.slice(0, 100)}`,
  });
}

function unavailable(token: Address, error: Error): NetworkUnavailable {
  return new NetworkUnavailable(`The node could not read ${token}: ${error.message}`, { cause: error });
}

function isProblem(value: unknown): value is Problem {
  return value instanceof NetworkRefusal || value instanceof NetworkUnavailable;
}

function isWord(answer: ReadAnswer | undefined): answer is { kind: 'returned'; data: Hex } {
  return answer?.kind === 'returned' && answer.data.length === 2 + 64;
}

function wordOf(data: Hex | undefined): bigint {
  if (data?.length !== 2 + 64) throw new Error('not one word');
  return BigInt(data);
}

function countOf(data: Hex | undefined): number {
  const count = Number(wordOf(data));
  if (!Number.isSafeInteger(count)) throw new Error(`no count: ${data}`);
  return count;
}

function statusOf(number: number): ReceiptStatus {
  const status = STATUSES[number];
  if (status === undefined) throw new Error(`no status: ${number}`);
  return status;
}
