/**
 * Reads many tokens of one template at one block: each token's answer, or why it has none.
 *
 * Templates are recognised by the functions that answer: only carbon credits count retirements, only
 * commodity receipts expire. Tokens of any factory can therefore be read, and a contract that is no token is
 * refused.
 */
import { decodeFunctionResult, encodeFunctionData } from 'viem';
import type { Address, Hex } from 'viem';
import { NetworkUnavailable, noTokenAt, refused } from '../port.ts';
import { RECEIPT_STATUSES } from '../port/tokens.ts';
import type { CarbonTotals, NetworkError, ReceiptStatus } from '../port.ts';
import { wordIn, type ReadAll, type ReadAnswer } from './contractReads.ts';
import { carbonTokenAbi, commodityTokenAbi } from './contracts.ts';
import type { Pin } from './finality.ts';

/** The value that was read from a token, or why it could not be read. */
export type Read<T> = T | NetworkError;

/** The reads of one token. */
export interface View<T> {
  data: readonly Hex[];
  /** @throws if the answers are not those of the template */
  decode: (answers: readonly Hex[]) => T;
  /** How to recognise the template that has no such reads; null if tokens of both have them. */
  otherTemplate: { problem: string; data: Hex; highest: bigint } | null;
}

/** One amount of a token of either template. */
export function amountView(data: Hex): View<{ amount: bigint }> {
  return { data: [data], decode: ([amount]) => ({ amount: wordOf(amount) }), otherTemplate: null };
}

const supplyData = viewData(carbonTokenAbi, 'totalSupply');
const retirementCountData = viewData(carbonTokenAbi, 'totalRetirements');
const isExpiredData = viewData(commodityTokenAbi, 'isExpired');
const COMMODITY = {
  problem: 'is a commodity token, not a carbon-credit token',
  data: isExpiredData,
  highest: 1n,
};
const CARBON_CREDIT = {
  problem: 'is a carbon-credit token, not a commodity token',
  data: retirementCountData,
  highest: BigInt(Number.MAX_SAFE_INTEGER),
};

export const SUPPLY = amountView(supplyData);

export const TOTALS: View<CarbonTotals> = {
  otherTemplate: COMMODITY,
  data: [supplyData, viewData(carbonTokenAbi, 'totalRetired'), retirementCountData],
  decode: ([supply, retired, retirements]) => ({
    totalSupply: wordOf(supply),
    totalRetired: wordOf(retired),
    totalRetirements: countOf(retirements),
  }),
};

export const RETIREMENT_COUNT: View<{ totalRetirements: number }> = {
  otherTemplate: COMMODITY,
  data: [retirementCountData],
  decode: ([retirements]) => ({ totalRetirements: countOf(retirements) }),
};

export const EXPIRY: View<{ isExpired: boolean; status: ReceiptStatus }> = {
  otherTemplate: CARBON_CREDIT,
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

/** Returns the value that `view` decodes from each token's answers, or the token's error. */
export async function readTokens<T>(
  readAll: ReadAll,
  pin: Pin,
  tokens: readonly Address[],
  view: View<T>,
): Promise<Read<T>[]> {
  const reads = tokens.flatMap((target) => view.data.map((data) => ({ target, data })));
  const answers = await readAll(pin, reads);
  const perToken = tokens.map((_, at) => answers.slice(at * view.data.length, (at + 1) * view.data.length));
  const values = perToken.map((own) => decodeAll(view, own));
  const badTokens = tokens.filter((_, at) => values[at] === null);
  const others = await findOthers(readAll, pin, badTokens, view);
  return tokens.map((token, at) => {
    const value = values[at] ?? null;
    return value ?? problemOf(token, perToken[at] ?? [], others.get(token));
  });
}

/** Returns the problem of each of these tokens without an answer for `view` that is of the other template. */
async function findOthers(
  readAll: ReadAll,
  pin: Pin,
  tokens: readonly Address[],
  { otherTemplate }: View<unknown>,
): Promise<ReadonlyMap<Address, string>> {
  if (otherTemplate === null) return new Map();
  const { problem, data, highest } = otherTemplate;
  const answers = await readAll(
    pin,
    tokens.map((target) => ({ target, data })),
  );
  const words = answers.map(wordIn);
  const isOther = (word: bigint | null | undefined) => word != null && word <= highest;
  return new Map(tokens.flatMap((token, at) => (isOther(words[at]) ? [[token, problem]] : [])));
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
  token: Address,
  answers: readonly ReadAnswer[],
  otherTemplate: string | undefined,
): NetworkError {
  const failed = answers.find((answer) => answer.kind === 'failed');
  if (failed) {
    const { error } = failed;
    return new NetworkUnavailable(`The node could not read ${token}: ${error.message}`, { cause: error });
  }
  if (otherTemplate === undefined) return noTokenAt(token);
  return refused('WRONG_TEMPLATE', `${token} ${otherTemplate}`);
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
  const status = RECEIPT_STATUSES[number];
  if (status === undefined) throw new Error(`no status: ${number}`);
  return status;
}
