/**
 * Public reads of tokens: each fact by the contract's getter, with bounded concurrency for many tokens.
 */
import type { xdr } from '@stellar/stellar-sdk';
import pLimit from 'p-limit';
import { isNetworkError, NetworkRefusal, NetworkUnavailable, noTokenAt } from '../port.ts';
import { requireTokenCount } from '../port/readLimits.ts';
import { RECEIPT_STATUSES } from '../port/tokens.ts';
import type { Address, AmountAnswer, BaseUnits, CarbonTotals, LedgerNetwork, TokenAnswer } from '../port.ts';
import { isContract } from './addresses.ts';
import { UnreadableFailure, type Answer, type ContractReads } from './contractReads.ts';
import { showError } from './hostErrors.ts';
import { explainMissing } from './refusals.ts';
import { addressVal, asBigint, asBoolean, asU32, plain, statusOf, UnexpectedValue } from './scvals.ts';

/** Maximum concurrent simulations of one batched read: as many as a public node accepts from one client. */
const MAX_CONCURRENT_READS = 16;
/** The totals are three answers; if a ledger closes in between, they are read again. */
const MAX_READS_OF_TOTALS = 5;

export function createTokenReads(reads: ContractReads) {
  /** @throws NetworkRefusal WRONG_TEMPLATE or CONTRACT_NOT_FOUND */
  async function get(token: Address, functionName: string, args: xdr.ScVal[] = []) {
    if (!isContract(token)) throw noTokenAt(token);
    const answer = await reads.ask(token, functionName, args);
    const value = await valueOrRefusal(reads, token, functionName, answer);
    return { value: plain(value), ledger: answer.ok ? answer.ledger : 0n };
  }

  /** All of one ledger. */
  async function carbonTotals(token: Address): Promise<CarbonTotals> {
    for (let attempt = 0; attempt < MAX_READS_OF_TOTALS; attempt += 1) {
      const [retirements, retired, supply] = await Promise.all([
        get(token, 'total_retirements'),
        get(token, 'total_retired'),
        get(token, 'total_supply'),
      ]);
      if (retired.ledger !== retirements.ledger || supply.ledger !== retirements.ledger) continue;
      return {
        totalSupply: asBigint(supply.value, 'total_supply'),
        totalRetired: asBigint(retired.value, 'total_retired'),
        totalRetirements: asU32(retirements.value, 'total_retirements'),
      };
    }
    throw new NetworkUnavailable(
      `The totals of ${token} could not be read of one ledger in ${MAX_READS_OF_TOTALS} attempts`,
    );
  }

  async function expiry(token: Address) {
    const [expired, reported] = await Promise.all([get(token, 'is_expired'), get(token, 'status')]);
    const isExpired = asBoolean(expired.value, 'is_expired');
    return { isExpired, status: statusOf(RECEIPT_STATUSES, reported.value, 'a receipt') };
  }

  async function totalSupply(token: Address): Promise<BaseUnits> {
    return asBigint((await get(token, 'total_supply')).value, 'total_supply');
  }

  async function balanceOf(token: Address, holder: Address): Promise<BaseUnits> {
    const { value } = await get(token, 'balance', [addressVal('id', holder)]);
    return asBigint(value, 'balance');
  }

  return {
    carbonTotals,
    totalSupply,
    totalSuppliesOf: (tokens) => amountsOf(tokens, totalSupply),
    balanceOf,
    balancesOf: (tokens, holder) => amountsOf(tokens, (token) => balanceOf(token, holder)),
    retirementCountsOf: (tokens) =>
      eachToken(tokens, async (token) => {
        const { value } = await get(token, 'total_retirements');
        return { totalRetirements: asU32(value, 'total_retirements') };
      }),
    expiryOf: (tokens) => eachToken(tokens, expiry),
  } satisfies Partial<LedgerNetwork>;
}

function amountsOf(
  tokens: readonly Address[],
  read: (token: Address) => Promise<BaseUnits>,
): Promise<AmountAnswer[]> {
  const ask = untilSilent(read);
  return eachToken(tokens, async (token) => ({ amount: await ask(token) }));
}

/** @throws NetworkRefusal if the contract does not exist, is of another template, or refuses */
async function valueOrRefusal(
  reads: Pick<ContractReads, 'exists'>,
  token: Address,
  functionName: string,
  answer: Answer<xdr.ScVal>,
): Promise<xdr.ScVal> {
  if (answer.ok) return answer.value;
  const missing = await explainMissing({ reads }, token, functionName, answer.error);
  throw new NetworkRefusal(
    missing ?? {
      reason: 'OTHER',
      message: `${token} does not show ${functionName}: ${showError(answer.error)}`,
    },
  );
}

/** A bad token gets its own error and does not affect the others. */
async function eachToken<T extends object>(
  tokens: readonly Address[],
  read: (token: Address) => Promise<T>,
): Promise<TokenAnswer<T>[]> {
  requireTokenCount(tokens.length);
  const limitConcurrency = pLimit(MAX_CONCURRENT_READS);
  return Promise.all(
    tokens.map((tokenAddress) =>
      limitConcurrency(() =>
        read(tokenAddress).then(
          (answer) => ({ tokenAddress, ...answer }),
          (error: unknown) => {
            if (isNetworkError(error)) return { tokenAddress, error };
            throw error;
          },
        ),
      ),
    ),
  );
}

/**
 * The same read, for the tokens of one question. If as many reads as run at once had no answer, and no other
 * read had one, the remaining reads fail unasked: each would last until its timeout.
 */
function untilSilent<T>(read: (token: Address) => Promise<T>): (token: Address) => Promise<T> {
  let unanswered = 0;
  let hasAnswered = false;
  let silence: unknown;
  return async (token) => {
    if (!hasAnswered && unanswered >= MAX_CONCURRENT_READS) throw silence;
    try {
      const answer = await read(token);
      hasAnswered = true;
      return answer;
    } catch (error) {
      if (isUnanswered(error)) {
        unanswered += 1;
        silence = error;
      } else hasAnswered = true;
      throw error;
    }
  };
}

/** Whether the node gave no answer at all. */
function isUnanswered(error: unknown): boolean {
  const isAnswer = error instanceof UnreadableFailure || error instanceof UnexpectedValue;
  return error instanceof NetworkUnavailable && !isAnswer;
}
