/**
 * Checks that a network still has the history that was final, for readiness and for networks whose ledgers
 * have no hash in the port.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { singleFlight } from '../../lib/singleFlight.ts';
import { NetworkBehind, ReorgUnconfirmed } from './port.ts';
import type { LedgerNetwork, NetworkStatus, UnixSeconds } from './port.ts';
import type { SeenLedgers } from './seenLedgers.ts';
import { wrapQuestions } from './wrapNetwork.ts';

/** For a network whose state is in the platform's database, or that guardLedgerNumbers wraps. */
export const WHOLE_HISTORY: Pick<LedgerNetwork, 'continuity' | 'presentHistory'> = {
  continuity: async () => ({ status: 'whole' }),
  presentHistory: async () => null,
};

/** How long a successful check is valid. */
const BELIEVED_MS = 5_000;
/** Maximum ledgers by which the nodes that share one address differ. */
const MAX_LAG_LEDGERS = 12n;
/**
 * Two answers at least so far apart are believed as far as they agree. If one false number were believed,
 * each true node would count as behind permanently.
 */
export const AGREED_AFTER_MS = 5_000;
/** A little longer than the time until a reorganisation is confirmed. */
const REORG_CONFIRMATION_MS = AGREED_AFTER_MS + 500;

/**
 * Wraps a network so that a node behind the highest seen ledger is not believed: every question first waits
 * for a check of the node's status. For networks whose ledgers have no hash in the port.
 */
export function guardLedgerNumbers(
  network: LedgerNetwork,
  seen: SeenLedgers,
  nowMs: () => number,
): LedgerNetwork {
  let checkedAtMs = Number.NEGATIVE_INFINITY;
  let earlier: { ledger: bigint; closedAt: UnixSeconds; atMs: number } | null = null;

  /** Notes the ledger that this answer and an earlier one have both reached. */
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
    // Runs before any question of this process is answered, because an answer may lead to a signature.
    if (earlier === null) await seen.resume(reported.closedAt);
    note(reported);
    checkedAtMs = nowMs();
    return reported;
  }

  const check = singleFlight(status);
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

/** Called before an action that is done only once: waits until asking again can confirm a reorganisation. */
export async function awaitReorgConfirmation(network: Pick<LedgerNetwork, 'continuity'>): Promise<void> {
  await network.continuity().catch(async (error: unknown) => {
    if (error instanceof ReorgUnconfirmed) await delay(REORG_CONFIRMATION_MS);
  });
}

/** For readiness: `ok`, or a short description of the network's problem. */
export async function describeNetwork(
  network: Pick<LedgerNetwork, 'status' | 'continuity'>,
): Promise<string> {
  try {
    await network.status();
    const continuity = await network.continuity();
    return continuity.status === 'whole' ? 'ok' : continuity.message;
  } catch (error) {
    const isKnown = error instanceof NetworkBehind || error instanceof ReorgUnconfirmed;
    return isKnown ? error.message : 'unreachable';
  }
}
