/**
 * The ramp provider's life: it pays or fails open sessions, and sends callbacks that are forged, late, out of
 * order, sent twice, or missing.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { HOOK_PATHS } from '../src/lib/hookUrls.ts';
import { FOREIGN_SECRET, HOLDERS_ACCOUNT_NUMBER } from './known.ts';
import type { Lab } from './lab.ts';
import type { Random } from './schedule.ts';

interface Payouts {
  callbacks: Record<string, number>;
  /** Sends the callback of every payout once more, as providers do after an incident. */
  repeatAll(): Promise<void>;
  stop(): Promise<void>;
}

const POLL_MS = 150;
const MAX_DELAY_MS = 2_000;
const FAILED_OF_TEN = 3;
/** Of so many looks at an open payout, one pays or fails it: a wallet takes longer to sign than custody. */
const LOOKS = 4;
const LOOKS_FOR_HOLDERS = 80;

export function startPayouts(lab: Lab, random: Random): Payouts {
  let isStopped = false;
  const under = new Set<Promise<void>>();
  const callbacks: Record<string, number> = {};

  async function send(sessionId: string, kind: string, secret = lab.callbackSecret): Promise<void> {
    callbacks[kind] = (callbacks[kind] ?? 0) + 1;
    const url = `${random.pick(lab.slots).url}${HOOK_PATHS.payoutSettled}`;
    await lab.ramp.callBack(url, sessionId, secret).catch(() => {});
  }

  async function tell(sessionId: string): Promise<void> {
    const kind = random.below(10);
    if (kind === 0) return void (callbacks['never sent'] = (callbacks['never sent'] ?? 0) + 1);
    if (kind === 1) await send(sessionId, 'forged', FOREIGN_SECRET);
    if (kind === 2) await delay(random.below(MAX_DELAY_MS));
    await send(sessionId, kind === 2 ? 'late' : 'sent');
    if (kind === 3) await send(sessionId, 'sent twice');
  }

  async function run(): Promise<void> {
    while (!isStopped) {
      for (const payout of lab.ramp.payouts.values()) {
        const looks = accountOf(payout.request) === HOLDERS_ACCOUNT_NUMBER ? LOOKS_FOR_HOLDERS : LOOKS;
        if (payout.status !== 'pending' || random.below(looks) !== 0) continue;
        payout.status = random.below(10) < FAILED_OF_TEN ? 'failed' : 'settled';
        const telling = tell(payout.id).finally(() => under.delete(telling));
        under.add(telling);
      }
      await delay(POLL_MS);
    }
  }
  const running = run();
  return {
    callbacks,
    async repeatAll() {
      for (const { id } of lab.ramp.payouts.values()) await send(id, 'repeated');
    },
    async stop() {
      isStopped = true;
      await running;
      await Promise.all(under);
    },
  };
}

function accountOf({ payoutAccount }: Record<string, unknown>): string | undefined {
  return (payoutAccount as { accountNumber?: string } | undefined)?.accountNumber;
}
