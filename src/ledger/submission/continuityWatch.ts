/**
 * Notices a chain that was rewritten below what was final also while nothing is to be signed: signing halts, and what had
 * landed is sent again (undone.ts). Otherwise an idle platform would stay unready for ever: no instance that is
 * not ready gets a request that makes it sign.
 */
import { NetworkUnavailable, RewriteDoubted } from '../network/port.ts';
import { haltOnRewrittenChain } from './knownHistory.ts';
import type { SubmissionDependencies } from './submission.ts';

interface ContinuityWatch {
  start(): void;
  stop(): Promise<void>;
}

/** Two questions to the node, whose answers all that ask at the time share. */
const LOOK_MS = 10_000;

export function createContinuityWatch(deps: SubmissionDependencies, lookMs = LOOK_MS): ContinuityWatch {
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<void> | null = null;

  async function look(): Promise<void> {
    try {
      const found = await deps.network.continuity();
      if (found.status === 'rewritten') await haltOnRewrittenChain(deps, found.message);
    } catch (error) {
      if (error instanceof RewriteDoubted)
        deps.log.warn({ err: error }, 'a final block may have been replaced');
      // A node that is away or behind proves nothing, and readiness tells of it.
      if (error instanceof NetworkUnavailable) return;
      deps.log.warn({ err: error }, 'signing on a rewritten chain could not be halted: tried again soon');
    }
  }

  return {
    start() {
      if (deps.network.signingOrder === null) return;
      timer = setInterval(() => {
        underWay ??= look().finally(() => (underWay = null));
      }, lookMs);
    },
    async stop() {
      clearInterval(timer);
      await underWay;
    },
  };
}
