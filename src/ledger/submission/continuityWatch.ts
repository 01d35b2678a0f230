/**
 * Compares the network with the database also while nothing is to be signed. It notices that a chain was
 * rewritten below its final ledger, that landed transactions are gone, or that another copy of the database
 * signs. Signing then halts, and the transactions are sent again (rolledBackTransactions.ts) while they can
 * still land. Without the watch, an idle platform would stay unready for ever, because an instance that is
 * not ready gets no request that makes it sign. The first poll also stores the sequences of a new database,
 * by which a backup of its first day is recognised.
 */
import { NetworkUnavailable, ReorgUnconfirmed, type SigningOrder } from '../network/port.ts';
import { haltOnReorg, checkHistory } from './knownHistory.ts';
import type { SubmissionDependencies } from './submission.ts';

interface ContinuityWatch {
  start(): void;
  stop(): Promise<void>;
}

/**
 * Each poll costs a few questions. A rolled-back transaction that can't land any more by the next one is
 * lost.
 */
const POLL_MS = 10_000;

export function createContinuityWatch(deps: SubmissionDependencies, pollMs = POLL_MS): ContinuityWatch {
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<void> | null = null;

  async function poll(order: SigningOrder): Promise<void> {
    try {
      const found = await deps.network.continuity();
      if (found.status === 'rewritten') await haltOnReorg(deps, found.message);
      else await checkHistory(deps, order);
    } catch (error) {
      if (error instanceof ReorgUnconfirmed)
        deps.log.warn({ err: error }, 'a final block may have been replaced');
      // A node that is unavailable or behind proves nothing, and readiness reports it.
      if (error instanceof NetworkUnavailable) return;
      deps.log.warn({ err: error }, 'the history of the network could not be compared: tried again soon');
    }
  }

  return {
    start() {
      const { signingOrder } = deps.network;
      if (signingOrder === null) return;
      timer = setInterval(() => {
        underWay ??= poll(signingOrder).finally(() => (underWay = null));
      }, pollMs);
    },
    async stop() {
      clearInterval(timer);
      await underWay;
    },
  };
}
