/**
 * Searches logs over a range of blocks. Nodes limit the blocks of one question, and this platform the length of
 * the answer, so the span is halved until both are kept.
 */
import type { Address, Hex } from 'viem';
import { NetworkUnavailable } from '../port.ts';
import { isTooLong, RpcError, valueOf } from './jsonRpc.ts';
import type { JsonRpc } from './jsonRpc.ts';
import { ask } from './node.ts';
import type { Log } from './node.ts';
import { isSame } from './results.ts';

export type LogSearch = (
  filter: { address: Address; topics: readonly (Hex | null)[] },
  range: { from: bigint; to: bigint },
  options?: {
    isOneEnough?: boolean;
    onRead?: (logs: readonly Log[], upTo: bigint) => void;
    /** Ends the search after so many questions, with the logs found by then. */
    enoughQuestions?: number;
  },
) => Promise<Log[]>;

/**
 * 20 million blocks at 10,000 per question need twice as many questions: such chains need LEDGER_FIRST_BLOCK.
 */
const MAX_QUESTIONS_PER_SEARCH = 1_000;
/**
 * Answers after which a wider span is tried again: a node in trouble refuses like one that is asked about too
 * many blocks.
 */
const WIDEN_AFTER_ANSWERS = 20;

type Asking = Pick<JsonRpc, 'ask' | 'askTogether'>;

export function createLogSearch(rpc: Asking): LogSearch {
  /** Blocks per question; null while the node has refused none. */
  let span: bigint | null = null;
  let answers = 0;
  return async (filter, { from, to }, options = {}) => {
    const { isOneEnough = false, onRead, enoughQuestions = Number.POSITIVE_INFINITY } = options;
    const found: Log[] = [];
    let next = from;
    for (let asked = 0; next <= to && asked < enoughQuestions; asked++) {
      if (asked === MAX_QUESTIONS_PER_SEARCH) {
        throw new NetworkUnavailable(
          `The factory's events from block ${from} to ${to} are too many questions of ${span} blocks each: ` +
            'set LEDGER_FIRST_BLOCK to the block of its deployment, or use a node that answers wider ranges',
        );
      }
      const width: bigint = span ?? to - next + 1n;
      const last = next + width - 1n < to ? next + width - 1n : to;
      try {
        const reported = await logsUpTo(rpc, { ...filter, from: next, to: last });
        const logs = reported.filter((log) => isSame(log.address, filter.address));
        onRead?.(logs, last);
        found.push(...logs);
        if (last - next + 1n === span && ++answers >= WIDEN_AFTER_ANSWERS) {
          span *= 2n;
          answers = 0;
        }
        if (isOneEnough && found.length > 0) break;
        next = last + 1n;
      } catch (error) {
        if (!(error instanceof RpcError || isTooLong(error)) || last === next) throw error;
        span = (last - next + 1n) / 2n;
        answers = 0;
      }
    }
    return found;
  };
}

/**
 * Asks for the last block too, because a node that is behind answers with no logs for blocks that it lacks.
 * One node answers a whole batch; without batches, another node behind a load balancer may answer.
 */
async function logsUpTo(rpc: Asking, filter: Parameters<typeof ask.logs>[0]): Promise<readonly Log[]> {
  const questions = [ask.logs(filter), ask.block(filter.to)] as const;
  const [logs, last] = await rpc.askTogether(questions).catch(
    // Some nodes refuse too wide a range with one error for the whole batch. Asked alone, the question shows
    // whether that is the reason, or an outage.
    async (error: unknown) => {
      if (!(error instanceof NetworkUnavailable)) throw error;
      await rpc.ask(ask.logs(filter));
      return rpc.askTogether(questions);
    },
  );
  const reported = valueOf(logs);
  if (valueOf(last) !== null) return reported;
  throw new NetworkUnavailable(
    `The node has no block ${filter.to} yet, so its logs up to there are incomplete`,
  );
}
