/**
 * Reads many tokens of one template at one block: each token's answer, or why it has none.
 *
 * Templates are recognised by the functions that answer: only carbon credits count retirements, only
 * commodity receipts expire. Tokens of any factory can therefore be read, and a contract that is no token is
 * refused.
 */
import { decodeFunctionResult, encodeFunctionData } from 'viem';
import type { Address, Hex } from 'viem';
import { NetworkRefusal, NetworkUnavailable, noTokenAt } from '../port.ts';
import type { CarbonTotals, ReceiptStatus } from '../port.ts';
import { wordIn, type ContractRead, type ReadAll, type ReadAnswer } from './contractReads.ts';
import { carbonTokenAbi, commodityTokenAbi } from './contracts.ts';
import type { Pin } from './finality.ts';

type Problem = NetworkRefusal | NetworkUnavailable;

/** The value that was read from a token, or why it could not be read. */
export type Read<T> = T | Problem;

const STATUSES: readonly ReceiptStatus[] = ['DRAFT', 'ACTIVE', 'SUSPENDED', 'REDEEMED', 'EXPIRED'];

/** The reads of one template, and how to recognise the other one. */
export interface View<T> {
  template: string;
  data: readonly Hex[];
  /** @throws if the answers are not those of the template */
  decode: (answers: readonly Hex[]) => T;
  otherTemplate: { name: string; data: Hex; highest: bigint };
}

/** Tokens of both templates have this function. */
export const SUPPLY = viewData(carbonTokenAbi, 'totalSupply');
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

export const TOTALS: View<CarbonTotals> = {
  ...carbon,
  data: [SUPPLY, viewData(carbonTokenAbi, 'totalRetired'), retirementCountData],
  decode: ([supply, retired, retirements]) => ({
    totalSupply: wordOf(supply),
    totalRetired: wordOf(retired),
    totalRetirements: countOf(retirements),
  }),
};

export const RETIREMENT_COUNT: View<{ totalRetirements: number }> = {
  ...carbon,
  data: [retirementCountData],
  decode: ([retirements]) => ({ totalRetirements: countOf(retirements) }),
};

export const EXPIRY: View<{ isExpired: boolean; status: ReceiptStatus }> = {
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
  const probes = await probeAll(readAll, pin, badTokens, view);
  return tokens.map((token, at) => {
    const value = values[at] ?? null;
    return value ?? problemOf(view, token, perToken[at] ?? [], probes.get(token));
  });
}

/** Returns one amount of each token of either template, or the token's error. */
export async function readAmountsAt(
  readAll: ReadAll,
  pin: Pin,
  tokens: readonly Address[],
  data: Hex,
): Promise<Read<{ amount: bigint }>[]> {
  const answers = await readAll(
    pin,
    tokens.map((target) => ({ target, data })),
  );
  return tokens.map((token, at) => {
    const answer = answers[at];
    const amount = wordIn(answer);
    if (amount !== null) return { amount };
    return answer?.kind === 'failed' ? unavailable(token, answer.error) : noTokenAt(token);
  });
}

/** Whether the tokens without an answer for `view` are of the other template. */
async function probeAll(
  readAll: ReadAll,
  pin: Pin,
  tokens: readonly Address[],
  { otherTemplate }: View<unknown>,
): Promise<Map<Address, boolean>> {
  const reads = tokens.map((target): ContractRead => ({ target, data: otherTemplate.data }));
  const answers = await readAll(pin, reads);
  return new Map(
    tokens.map((token, at) => {
      const word = wordIn(answers[at]);
      return [token, word !== null && word <= otherTemplate.highest];
    }),
  );
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
  if (!isOtherTemplate) return noTokenAt(token);
  return new NetworkRefusal({
    reason: 'WRONG_TEMPLATE',
    message: `${token} is a ${view.otherTemplate.name} token, not a ${view.template} token`,
  });
}

function unavailable(token: Address, error: Error): NetworkUnavailable {
  return new NetworkUnavailable(`The node could not read ${token}: ${error.message}`, { cause: error });
}

export function isProblem(value: unknown): value is Problem {
  return value instanceof NetworkRefusal || value instanceof NetworkUnavailable;
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
