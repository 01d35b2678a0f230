/**
 * A platform on some network, with holders who have wallets there.
 */
import { eq } from 'drizzle-orm';
import { expect } from 'vitest';
import { attempts } from '../../../src/db/tables/index.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import type { LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { findHolderAct, type HolderAct } from '../../../src/resolvers/wallets/findHolderAct.ts';
import { submitSigned } from '../../../src/resolvers/wallets/submitSigned.ts';
import type { Holder } from '../../../devnet/world.ts';

export interface WalletWorld {
  platform: Platform;
  network: LedgerNetwork;
  createHolder(): Promise<Holder>;
  /** Moves whole tonnes to the holder's address, outside of the product. */
  giveCredits(tokenAddress: string, holder: string, tonnes: bigint): Promise<void>;
  /** Lets the network's time pass. */
  advanceClock(seconds: number): Promise<void>;
  stop(): Promise<void>;
}

/** Returns the world of the whole suite to the tests of a group. */
export type InWorld = () => WalletWorld;

export const CALLER = 'acme';
/** For changes without a request: within a moment here, later on a busy machine. */
export const EVENTUALLY = { timeout: 30_000 };

/** Returns the attempts in no particular order. */
export function attemptsOfSubmission(
  { dependencies: { db } }: Pick<Platform, 'dependencies'>,
  submissionId: string | undefined,
) {
  return db
    .select()
    .from(attempts)
    .where(eq(attempts.submissionId, submissionId ?? ''));
}

export async function stateOfAct({ dependencies }: Pick<Platform, 'dependencies'>, actId: string) {
  return (await findHolderAct(dependencies, actId))?.state;
}

/** Signs the act and submits it. */
export async function signAndSubmit(
  { platform }: { platform: Pick<Platform, 'dependencies'> },
  holder: Holder,
  act: HolderAct,
): Promise<HolderAct> {
  return submitSigned(platform.dependencies, act, await holder.sign(act.unsigned));
}

/** Broadcasts without the platform, as some wallets do with what they have signed. */
export async function sendPastUs(
  { network }: Pick<WalletWorld, 'network'>,
  holder: Holder,
  act: HolderAct,
): Promise<void> {
  const opened = await network.openSigned(act.call, act.unsigned, await holder.sign(act.unsigned));
  await expect
    .poll(async () => {
      await network.broadcast(opened.signedBytes);
      return (await network.outcome(opened)).status;
    }, EVENTUALLY)
    .toBe('succeeded');
}
