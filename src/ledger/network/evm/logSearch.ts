/**
 * Searches logs over a range of blocks. Nodes limit how many blocks one question may span, so the span is halved until
 * they answer.
 */
import type { Address, Hex } from 'viem';
import { NetworkUnavailable } from '../port.ts';
import { RpcError } from './jsonRpc.ts';
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
    /** Ends the search after this many questions, with what was found by then. */
    enoughQuestions?: number;
  },
) => Promise<Log[]>;

/** 20 million blocks at 10,000 per question need twice as many: such chains need LEDGER_FIRST_BLOCK. */
const MAX_QUESTIONS_PER_SEARCH = 1_000;

export function createLogSearch(rpc: JsonRpc): LogSearch {
  /** Blocks per question that the node answered last. */
  let span: bigint | null = null;
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
        const reported = await rpc.ask(ask.logs({ ...filter, from: next, to: last }));
        const logs = reported.filter((log) => isSame(log.address, filter.address));
        onRead?.(logs, last);
        found.push(...logs);
        if (isOneEnough && found.length > 0) break;
        next = last + 1n;
      } catch (error) {
        if (!(error instanceof RpcError) || last === next) throw error;
        span = (last - next + 1n) / 2n;
      }
    }
    return found;
  };
}
