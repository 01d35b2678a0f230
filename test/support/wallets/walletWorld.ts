/**
 * A platform on some network, with people who have wallets there.
 */
import { expect } from 'vitest';
import type { Platform } from '../../../src/startup/compose.ts';
import type { LedgerNetwork } from '../../../src/ledger/network/port.ts';
import type { HolderAct } from '../../../src/resolvers/wallets/findHolderAct.ts';
import { submitSigned } from '../../../src/resolvers/wallets/submitSigned.ts';
import type { Holder } from '../../../devnet/world.ts';

export interface WalletWorld {
  platform: Platform;
  network: LedgerNetwork;
  createHolder(): Promise<Holder>;
  /** Puts whole tonnes at the holder's address, past the product. */
  giveCredits(tokenAddress: string, holder: string, tonnes: bigint): Promise<void>;
  /** Lets the network's time pass. */
  advanceClock(seconds: number): Promise<void>;
  stop(): Promise<void>;
}

/** Gives the tests of a group the world that was made for the whole suite. */
export type InWorld = () => WalletWorld;

export const CALLER = 'acme';
/** For what happens by itself: within a moment here, later on a busy machine. */
export const EVENTUALLY = { timeout: 30_000 };

/** Prepares, signs and gives back. */
export async function signAndSubmit(
  { platform }: Pick<WalletWorld, 'platform'>,
  holder: Holder,
  act: HolderAct,
): Promise<HolderAct> {
  return submitSigned(platform.dependencies, act, await holder.sign(act.unsigned));
}

/** As a wallet that sends what it has signed by itself. */
export async function sendPastUs({ network }: WalletWorld, holder: Holder, act: HolderAct): Promise<void> {
  const opened = await network.openSigned(act.call, act.unsigned, await holder.sign(act.unsigned));
  await expect
    .poll(async () => {
      await network.broadcast(opened.signedBytes);
      return (await network.outcome(opened)).status;
    }, EVENTUALLY)
    .toBe('succeeded');
}
