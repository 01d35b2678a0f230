/**
 * Reads contracts in bulk at one final block: through Multicall3 if the chain has it, otherwise by batches of
 * `eth_call`.
 *
 * In a multicall one bad contract can use up the others' gas, so only its successful answers count. A failed
 * read is repeated alone, and that answer is the contract's own.
 */
import { decodeFunctionResult, encodeFunctionData } from 'viem';
import type { Address, Hex } from 'viem';
import { MULTICALL3_ADDRESS, multicallAbi } from './contracts.ts';
import type { Pin } from './finality.ts';
import { valueOf } from './jsonRpc.ts';
import { chunksOf } from '../../../lib/chunksOf.ts';
import type { Answer, JsonRpc, RpcError } from './jsonRpc.ts';
import { ask } from './node.ts';
import { revertOf } from './refusals.ts';

export interface ContractRead {
  target: Address;
  data: Hex;
}

/** A contract's answer; `nothing` if the address has no contract. */
export type ReadAnswer =
  | { kind: 'returned'; data: Hex }
  | { kind: 'nothing' }
  | { kind: 'reverted' }
  /** The node could not answer. */
  | { kind: 'failed'; error: RpcError };

/** @throws RpcError if the node answered none of the reads; NetworkUnavailable */
export type ReadAll = (
  pin: Pin,
  reads: readonly ContractRead[],
  options?: { perMulticall?: number },
) => Promise<ReadAnswer[]>;

/** A read takes some 10,000 gas; nodes allow 30 million and more for an `eth_call`. */
const READS_PER_MULTICALL = 200;
/** After so many blocks, a chain without the multicall contract is checked for it again. */
const BLOCKS_UNTIL_NEXT_LOOK = 1_000n;

export function createReadAll(rpc: JsonRpc): ReadAll {
  const hasMulticall = createMulticallLook(rpc);

  async function askOneByOne(pin: Pin, reads: readonly ContractRead[]): Promise<ReadAnswer[]> {
    const answers = await rpc.askEach(
      reads.map(({ target, data }) => ask.call({ to: target, data }, pin.state)),
    );
    return answers.map(readAnswer);
  }

  async function readOneByOne(pin: Pin, reads: readonly ContractRead[]): Promise<ReadAnswer[]> {
    const read = await askOneByOne(pin, reads);
    const [first] = read;
    if (first?.kind === 'failed' && read.every(({ kind }) => kind === 'failed')) throw first.error;
    return read;
  }

  async function readByMulticall(
    pin: Pin,
    reads: readonly ContractRead[],
    perMulticall: number,
  ): Promise<(Hex | null)[]> {
    const chunks = chunksOf(reads, perMulticall);
    const answers = await rpc.askEach(
      chunks.map((chunk) => ask.call({ to: MULTICALL3_ADDRESS, data: aggregate(chunk) }, pin.state)),
    );
    return chunks.flatMap((chunk, at) => readAggregate(answers[at], chunk.length));
  }

  return async (pin, reads, options = {}) => {
    if (reads.length === 0) return [];
    // A single read gains nothing from a multicall.
    if (reads.length === 1 || !(await hasMulticall(pin))) return readOneByOne(pin, reads);
    const together = await readByMulticall(pin, reads, options.perMulticall ?? READS_PER_MULTICALL);
    const missing = reads.filter((_, at) => together[at] === null);
    if (missing.length === reads.length) return readOneByOne(pin, reads);
    const alone = missing.length === 0 ? [] : await askOneByOne(pin, missing);
    const rest = alone[Symbol.iterator]();
    return together.map((data) => {
      if (data !== null) return { kind: 'returned', data };
      const { value } = rest.next();
      if (value === undefined) throw new Error('a read was not asked for again');
      return value;
    });
  };
}

function createMulticallLook(rpc: JsonRpc): (pin: Pin) => Promise<boolean> {
  let isThere = false;
  let nextLook = 0n;
  return async ({ final, state }) => {
    if (!isThere && final.number >= nextLook) {
      isThere = (await rpc.ask(ask.code(MULTICALL3_ADDRESS, state))) !== '0x';
      nextLook = final.number + BLOCKS_UNTIL_NEXT_LOOK;
    }
    return isThere;
  };
}

function aggregate(reads: readonly ContractRead[]): Hex {
  const calls = reads.map(({ target, data }) => ({ target, allowFailure: true, callData: data }));
  return encodeFunctionData({ abi: multicallAbi, functionName: 'aggregate3', args: [calls] });
}

/** The data of each read; null for a read that has to be repeated alone. */
function readAggregate(answer: Answer<Hex> | undefined, count: number): (Hex | null)[] {
  const nothing = Array.from({ length: count }, () => null);
  if (!answer || 'error' in answer) return nothing;
  try {
    const data = valueOf(answer);
    const results = decodeFunctionResult({ abi: multicallAbi, functionName: 'aggregate3', data });
    if (results.length !== count) return nothing;
    return results.map(({ success, returnData }) => (success && returnData !== '0x' ? returnData : null));
  } catch {
    return nothing;
  }
}

function readAnswer(answer: Answer<Hex>): ReadAnswer {
  if ('value' in answer) {
    return answer.value === '0x' ? { kind: 'nothing' } : { kind: 'returned', data: answer.value };
  }
  return revertOf(answer.error) === null ? { kind: 'failed', error: answer.error } : { kind: 'reverted' };
}

/** The contract's answer to a call that was asked alone. @throws RpcError if the node could not answer */
export function returned(answer: Answer<Hex>): ReadAnswer {
  const read = readAnswer(answer);
  if (read.kind === 'failed') throw read.error;
  return read;
}

/** The answer as a number; null unless it is exactly one word. */
export function wordIn(answer: ReadAnswer | undefined): bigint | null {
  return answer?.kind === 'returned' && answer.data.length === 2 + 64 ? BigInt(answer.data) : null;
}
