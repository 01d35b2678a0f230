/** The effects of the network's outcome of a submission. */
import { describe, expect, it } from 'vitest';
import { effectsFor, type Effects } from '../../../../src/ledger/submission/effects.ts';
import type { NetworkCall } from '../../../../src/ledger/network/port.ts';

const mint: NetworkCall = { kind: 'mint', tokenAddress: 'token', to: 'custody', amount: 1n };
const effectsNamed = (): Effects => ({
  async succeeded() {},
  async refused() {
    return 'REFUSED';
  },
  async needsReview() {},
  async resumed() {},
});

describe('effectsFor', () => {
  const ofProject = effectsNamed();
  const ofReceipt = effectsNamed();
  const deps = {
    effects: { CUSTODY: { PROJECT: { mint: ofProject }, RECEIPT: { mint: ofReceipt } }, HOLDER: {} },
  };

  it('distinguishes the same call for a project from one for a receipt', () => {
    expect(effectsFor(deps, { signer: 'CUSTODY', targetType: 'PROJECT', call: mint })).toBe(ofProject);
    expect(effectsFor(deps, { signer: 'CUSTODY', targetType: 'RECEIPT', call: mint })).toBe(ofReceipt);
  });

  it('never takes what custody signs for what a holder signs', () => {
    const byHolder = () => effectsFor(deps, { signer: 'HOLDER', targetType: 'PROJECT', call: mint });
    expect(byHolder).toThrow('no use case handles mint of a PROJECT, signed by HOLDER');
  });
});
