/**
 * Notices also while nothing is to be signed that a chain was rewritten below what was final, that what landed is gone, or that another
 * copy of the database signs: signing halts, and what had landed is sent again (undone.ts) while it still can land. Otherwise an idle
 * platform would stay unready for ever: no instance that is not ready gets a request that makes it sign. A new database has its
 * sequences from the first look: a backup of its first day is known as one by them.
 */
import { NetworkUnavailable, RewriteDoubted, type SigningOrder } from '../network/port.ts';
import { haltOnRewrittenChain, lookAtHistory } from './knownHistory.ts';
import type { SubmissionDependencies } from './submission.ts';

interface ContinuityWatch {
  start(): void;
  stop(): Promise<void>;
}

/** A few questions to the node; what can't land any more when it is noticed late is lost. */
const LOOK_MS = 10_000;

export function createContinuityWatch(deps: SubmissionDependencies, lookMs = LOOK_MS): ContinuityWatch {
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<void> | null = null;

  async function look(order: SigningOrder): Promise<void> {
    try {
      const found = await deps.network.continuity();
      if (found.status === 'rewritten') await haltOnRewrittenChain(deps, found.message);
      else await lookAtHistory(deps, order);
    } catch (error) {
      if (error instanceof RewriteDoubted)
        deps.log.warn({ err: error }, 'a final block may have been replaced');
      // A node that is away or behind proves nothing, and readiness tells of it.
      if (error instanceof NetworkUnavailable) return;
      deps.log.warn({ err: error }, 'the history of the network could not be compared: tried again soon');
    }
  }

  return {
    start() {
      const { signingOrder } = deps.network;
      if (signingOrder === null) return;
      timer = setInterval(() => {
        underWay ??= look(signingOrder).finally(() => (underWay = null));
      }, lookMs);
    },
    async stop() {
      clearInterval(timer);
      await underWay;
    },
  };
}
