/**
 * What holders with a wallet of their own are promised, on any network: run it with `describeWallets(name, make)`.
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
    // Last: giving a holder credits past the product is what no reconciliation can explain.
    describeWalletRetirements(inWorld);
  });
}
