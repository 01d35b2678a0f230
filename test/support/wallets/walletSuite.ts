/**
 * The promises to holders who have their own wallet, on any network: run the suite with
 * `describeWallets(name, make)`.
 */
import { afterAll, beforeAll, describe } from 'vitest';
import { describeWalletCashOuts } from './walletCashOuts.ts';
import { describeWalletRetirements } from './walletRetirements.ts';
import type { InWorld, WalletWorld } from './walletWorld.ts';

export type { WalletWorld } from './walletWorld.ts';

export function describeWallets(name: string, make: () => Promise<WalletWorld>): void {
  describe(`holders with a wallet: ${name}`, () => {
    let made: WalletWorld | null = null;
    const inWorld: InWorld = () => {
      if (!made) throw new Error('the world is not ready');
      return made;
    };
    beforeAll(async () => {
      made = await make();
    });
    afterAll(() => made?.stop());

    describeWalletCashOuts(inWorld);
    // Last: credits that a holder was given outside of the product stay a finding of every reconciliation.
    describeWalletRetirements(inWorld);
  });
}
