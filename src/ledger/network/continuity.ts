/**
 * Checks that a network still has the history that was final, for networks whose ledgers have no hash in the port, and
 * for readiness.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { shareRun } from '../../lib/sharedRuns.ts';
import { NetworkBehind, RewriteDoubted } from './port.ts';
import type { LedgerNetwork, NetworkStatus, UnixSeconds } from './port.ts';
import type { SeenLedgers } from './seenLedgers.ts';
import { wrapQuestions } from './wrapNetwork.ts';

/** For a network whose state is in the platform's database, or that is guarded from outside (guardLedgerNumbers). */
export const WHOLE_HISTORY: Pick<LedgerNetwork, 'continuity' | 'presentHistory'> = {
  continuity: async () => ({ status: 'whole' }),
  presentHistory: async () => null,
};

/** A successful check is valid this long. */
const BELIEVED_MS = 5_000;
/** Several nodes may share one address; they differ by this much at most. */
const MAX_LAG_LEDGERS = 12n;
/** Two answers so far apart are believed where they agree: after one false number, each true node would count as behind for ever. */
export const AGREED_AFTER_MS = 5_000;
/** A little longer than a replaced ledger is doubted. */
const DOUBT_MS = AGREED_AFTER_MS + 500;

/**
 * Wraps a network so that a node behind the highest seen ledger is not believed: every question waits. For networks whose
 * ledgers have no hash in the port.
 */
export function guardLedgerNumbers(
  network: LedgerNetwork,
  seen: SeenLedgers,
  nowMs: () => number,
): LedgerNetwork {
  let checkedAtMs = Number.NEGATIVE_INFINITY;
  let earlier: { ledger: bigint; closedAt: UnixSeconds; atMs: number } | null = null;

  /** What this answer and an earlier one have both reached. */
  function note({ ledger, closedAt }: NetworkStatus): void {
    const atMs = nowMs();
    const answer = { ledger, closedAt, atMs };
    if (earlier !== null) {
      if (atMs - earlier.atMs < AGREED_AFTER_MS) return;
      const reached = earlier.ledger < ledger ? earlier : answer;
      seen.note({ ledger: reached.ledger, hash: null, closedAt: reached.closedAt });
    }
    earlier = answer;
  }

  async function status(): ReturnType<LedgerNetwork['status']> {
    const reported = await network.status();
    const highest = seen.highest();
    if (highest !== null && reported.ledger + MAX_LAG_LEDGERS < highest.ledger) {
      await seen.reread();
      const stored = seen.highest() ?? highest;
      if (reported.ledger + MAX_LAG_LEDGERS < stored.ledger) {
        throw new NetworkBehind({ reported: reported.ledger, seen: stored.ledger });
      }
    }
    // Before anything that this start of the process asks is answered, and signed by.
    if (earlier === null) await seen.resume(reported.closedAt);
    note(reported);
    checkedAtMs = nowMs();
    return reported;
  }

  const check = shareRun(status);
  const guarded = wrapQuestions(network, async (question) => {
    if (nowMs() - checkedAtMs >= BELIEVED_MS) await check();
    return question();
  });
  return {
    ...guarded,
    status,
    async continuity() {
      await status();
      return network.continuity();
    },
  };
}

/** Before what is done once: what one answer does not prove is asked again. */
export async function endDoubt(network: Pick<LedgerNetwork, 'continuity'>): Promise<void> {
  await network.continuity().catch(async (error: unknown) => {
    if (error instanceof RewriteDoubted) await delay(DOUBT_MS);
  });
}

/** For readiness: `ok`, or the network's problem in a few words. */
export async function describeNetwork(
  network: Pick<LedgerNetwork, 'status' | 'continuity'>,
): Promise<string> {
  try {
    await network.status();
    const continuity = await network.continuity();
    return continuity.status === 'whole' ? 'ok' : continuity.message;
  } catch (error) {
    const isKnown = error instanceof NetworkBehind || error instanceof RewriteDoubted;
    return isKnown ? error.message : 'unreachable';
  }
}
