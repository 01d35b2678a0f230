/**
 * The contract that every network adapter keeps: run it with `describeLedgerNetwork(name, makeNetwork)`.
 *
 * The tests use only the port. Operations that only a test needs (time that passes, a pause, another signer)
 * come from `NetworkUnderTest`, which each adapter's test file provides for its own network.
 */
import { afterAll, beforeAll, describe } from 'vitest';
import type { Address, LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { describeCarbonTokens } from './carbonTokens.ts';
import { describeFinality } from './finality.ts';
import { describeIdentity } from './identity.ts';
import { describeReceipts } from './receipts.ts';
import { describeSettlement } from './settlement.ts';
import { describeTransactions } from './transactions.ts';

interface NetworkUnderTest {
  network: LedgerNetwork;
  /** A second adapter of the same signer on the same network, like another process. */
  twin: LedgerNetwork;
  /** An adapter of another signer on the same network, with tokens but without a role; same settlement. */
  stranger: LedgerNetwork;
  /** An unused address. */
  freshAddress: () => Address;
  /**
   * Lets the network's time pass, without a transaction of its own: what was accepted before lands first. A
   * ledger with the new time is final afterwards.
   */
  advanceClock: (seconds: number) => Promise<void>;
  /** Pauses or unpauses a token or a settlement contract of custody's. */
  setPaused: (contractAddress: Address, paused: boolean) => Promise<void>;
  traits: NetworkTraits;
  close: () => Promise<void>;
}

/** Differences between networks that the port allows. */
export interface NetworkTraits {
  /** Signed bytes name a time after which they can't land (`validUntil`). */
  bytesExpire: boolean;
  /** A deploy's address follows from its salt. */
  addressesArePredicted: boolean;
  /** Maximum number of transactions under way together, if below 20; at least two. */
  fewSlots?: number;
}

/** Returns the network of the whole suite to the tests of a group. */
export type UnderTest = () => NetworkUnderTest;

export function describeLedgerNetwork(
  name: string,
  traits: NetworkTraits,
  makeNetwork: () => Promise<Omit<NetworkUnderTest, 'traits'>>,
): void {
  describe(`the ledger network port: ${name}`, () => {
    let made: NetworkUnderTest | null = null;
    beforeAll(async () => {
      made = { ...(await makeNetwork()), traits };
    });
    afterAll(() => made?.close());
    const underTest: UnderTest = () => {
      if (!made) throw new Error('The network under test is not ready');
      return made;
    };

    describeIdentity(underTest, traits);
    describeTransactions(underTest, traits);
    describeFinality(underTest);
    describeCarbonTokens(underTest);
    describeReceipts(underTest);
    describeSettlement(underTest);
  });
}
