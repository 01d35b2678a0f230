/**
 * The outcome of an expired transaction that the node does not find although its account's sequence is used;
 * and when the node is asked about a pending transaction.
 */
import { Keypair, xdr } from '@stellar/stellar-sdk';
import { beforeEach, describe, expect, it } from 'vitest';
import { accountKey } from '../../../../../src/ledger/network/stellar/addresses.ts';
import { MethodMissing } from '../../../../../src/ledger/network/stellar/node.ts';
import { createOutcomes, outcomeOf } from '../../../../../src/ledger/network/stellar/outcome.ts';
import { createUnfinishedSearches } from '../../../../../src/ledger/network/stellar/sequenceUse.ts';

const custody = Keypair.random();
const holder = Keypair.random();
const SENT = { hash: 'a'.repeat(64), sequence: 7n, validUntil: 500n, preparedAtLedger: 50n };

/** @param usedInLedger the ledger that used the account's sequence, if the account records it */
function accountAt(key: Keypair, sequence: bigint, usedInLedger: number | null): xdr.LedgerEntryData {
  const zero = xdr.Int64.fromString('0');
  const third = new xdr.AccountEntryExtensionV3({
    ext: new xdr.ExtensionPoint(0),
    seqLedger: usedInLedger ?? 0,
    seqTime: xdr.Uint64.fromString('0'),
  });
  const second = new xdr.AccountEntryExtensionV2({
    numSponsored: 0,
    numSponsoring: 0,
    signerSponsoringIDs: [],
    ext: new xdr.AccountEntryExtensionV2Ext(3, third),
  });
  const first = new xdr.AccountEntryExtensionV1({
    liabilities: new xdr.Liabilities({ buying: zero, selling: zero }),
    ext: new xdr.AccountEntryExtensionV1Ext(2, second),
  });
  return xdr.LedgerEntryData.account(
    new xdr.AccountEntry({
      accountId: key.xdrAccountId(),
      balance: zero,
      seqNum: xdr.Int64.fromString(String(sequence)),
      numSubEntries: 0,
      inflationDest: null,
      flags: 0,
      homeDomain: '',
      thresholds: Buffer.alloc(4),
      signers: [],
      ext: usedInLedger === null ? new xdr.AccountEntryExt(0) : new xdr.AccountEntryExt(1, first),
    }),
  );
}

/** The outcome by a node that lists no transactions and lacks this one; `lookedAt` has its ledgers. */
function concluded(
  key: Keypair,
  { lookedAt, usedInLedger }: { lookedAt: bigint[]; usedInLedger: number | null },
) {
  const source = key.publicKey();
  const looks = [...lookedAt];
  const node = {
    transaction: async () => ({
      status: 'NOT_FOUND',
      latestLedger: looks.shift() ?? 0n,
      closedAt: 1_000n,
      oldestLedger: 1n,
    }),
    entries: async () => ({
      latestLedger: 101n,
      byKey: new Map([[accountKey(source).toXDR('base64'), accountAt(key, SENT.sequence, usedInLedger)]]),
    }),
    transactionsFrom: () => Promise.reject(new MethodMissing('The node lists no transactions')),
  };
  const keys = { custody, sources: new Map([[custody.publicKey(), custody]]) };
  const deps = { node, keys, passphrase: 'a test', unfinishedSearches: createUnfinishedSearches() };
  return outcomeOf(deps as never, { ...SENT, source });
}

it('is nothing by the word of a node that is behind the one which said that the sequence was used', async () => {
  const used = { usedInLedger: null };
  expect(await concluded(holder, { ...used, lookedAt: [100n, 99n] })).toEqual({ status: 'pending' });
  expect(await concluded(holder, { ...used, lookedAt: [100n, 101n] })).toMatchObject({ status: 'dead' });
  // Only the platform can use custody's own sequence.
  expect(await concluded(custody, { ...used, lookedAt: [100n, 101n] })).toMatchObject({
    status: 'undeterminable',
  });
});

it('is its death where the sequence was used before it was made, whatever the node still lists', async () => {
  const before = { lookedAt: [100n, 101n], usedInLedger: 50 };
  expect(await concluded(custody, before)).toMatchObject({ status: 'dead', usedBy: null });
  expect(await concluded(custody, { ...before, usedInLedger: 51 })).toMatchObject({
    status: 'undeterminable',
  });
});

describe('a look at one that is pending', () => {
  let nowMs: number;
  let heard: { ledger: bigint; atMs: number };
  let asked: number;
  let behind: bigint;
  let look: () => Promise<unknown>;

  beforeEach(async () => {
    nowMs = 10_000;
    heard = { ledger: 100n, atMs: 9_000 };
    asked = 0;
    behind = 0n;
    const node = {
      lastReported: () => heard,
      transaction: async () => {
        asked += 1;
        heard = { ledger: heard.ledger, atMs: nowMs };
        return { status: 'NOT_FOUND', latestLedger: heard.ledger - behind, closedAt: 400n, oldestLedger: 1n };
      },
    };
    const keys = { custody, sources: new Map([[custody.publicKey(), custody]]) };
    const deps = { node, keys, passphrase: 'a test', unfinishedSearches: createUnfinishedSearches() };
    const outcome = createOutcomes(deps as never, () => nowMs);
    look = () => outcome({ ...SENT, source: custody.publicKey() });
    expect(await look()).toEqual({ status: 'pending' });
    nowMs += 50;
  });

  it('asks nothing while answers to others show that no ledger has closed', async () => {
    heard = { ledger: 100n, atMs: nowMs };
    nowMs += 99;
    expect(await look()).toEqual({ status: 'pending' });
    expect(asked).toBe(1);
  });

  it.each([
    ['a ledger has closed', () => (heard = { ledger: 101n, atMs: nowMs })],
    ['the network was rolled back', () => (heard = { ledger: 99n, atMs: nowMs })],
    ['the answers are older', () => (heard = { ledger: 100n, atMs: nowMs - 100 })],
    ['there is none since its own', () => {}],
  ])('asks when %s', async (_, change) => {
    change();
    expect(await look()).toEqual({ status: 'pending' });
    expect(asked).toBe(2);
  });

  it('asks when the node that did not have it was behind', async () => {
    behind = 1n;
    await look();
    heard = { ledger: 100n, atMs: nowMs + 1 };
    nowMs += 2;
    await look();
    expect(asked).toBe(3);
  });
});
