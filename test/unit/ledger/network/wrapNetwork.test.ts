/** Rules that hold for every question to a network, whatever adapter answers. */
import { describe, expect, it } from 'vitest';
import {
  NetworkBehind,
  NetworkRefusal,
  NetworkUnavailable,
  type LedgerNetwork,
} from '../../../../src/ledger/network/port.ts';
import { explainFailures, wrapQuestions } from '../../../../src/ledger/network/wrapNetwork.ts';

/** The part of the port that these tests use. */
function networkThat(fails: () => never): LedgerNetwork {
  const network: Partial<LedgerNetwork> = {
    name: 'test',
    signingOrder: null,
    normalizeAddress: (text) => text.trim(),
    status: async () => ({ ledger: 1n, closedAt: 2n, oldestLedger: 0n }),
    totalSupply: async () => fails(),
    balanceOf: () => fails(),
  };
  return network as LedgerNetwork;
}

describe('wrapQuestions', () => {
  it('puts every question, and nothing that is computed here', async () => {
    let questions = 0;
    const network = wrapQuestions(networkThat(neverAsked), (question) => {
      questions += 1;
      return question();
    });
    expect([network.name, network.signingOrder, network.normalizeAddress(' a ')]).toEqual([
      'test',
      null,
      'a',
    ]);
    expect(questions).toBe(0);
    expect(await network.status()).toMatchObject({ ledger: 1n });
    expect(questions).toBe(1);
  });
});

describe('explainFailures', () => {
  const failing = (error: Error) =>
    explainFailures(
      networkThat(() => {
        throw error;
      }),
      (cause) => `not understood: ${(cause as Error).message}`,
    );

  it.each(['totalSupply', 'balanceOf'] as const)('%s fails with words of the port', async (method) => {
    const cause = new SyntaxError('a 7 instead of a map');
    const failure = failing(cause)[method]('token', 'holder');
    await expect(failure).rejects.toMatchObject({ message: 'not understood: a 7 instead of a map', cause });
    await expect(failure).rejects.toBeInstanceOf(NetworkUnavailable);
  });

  it.each([
    new NetworkRefusal({ reason: 'PAUSED', message: 'paused' }),
    new NetworkBehind({ reported: 1n, seen: 2n }),
    new RangeError('too many'),
  ])('leaves %s as it is', async (error) => {
    await expect(failing(error).totalSupply('token')).rejects.toBe(error);
  });
});

function neverAsked(): never {
  throw new Error('it was asked');
}
