/**
 * Conditions for a deposit in the settlement contract to be the agreed deposit, or to be given back.
 */
import { expect, it } from 'vitest';
import type { OffRampDeposit } from '../../../../src/ledger/network/port.ts';
import { toBaseUnits } from '../../../../src/ledger/units.ts';
import {
  isAsAgreed,
  type OffRampSession,
} from '../../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import { isToBeGivenBack } from '../../../../src/resolvers/warehouse/offRamp/stepHolderDeposit.ts';

const agreed = { depositor: 'HOLDER', depositorAddress: 'G1', tokenAddress: 'T1', tokenAmountKg: 7n };
const session = agreed as OffRampSession;
const deposit: OffRampDeposit = {
  depositor: 'G1',
  tokenAddress: 'T1',
  amount: toBaseUnits(7n),
  status: 'PENDING',
};

it('is by the depositor, of the token, and of exactly the amount', () => {
  expect(isAsAgreed(session, deposit)).toBe(true);
  const others: Partial<OffRampDeposit>[] = [
    { depositor: 'G2' },
    { tokenAddress: 'T2' },
    { amount: deposit.amount - 1n },
    { amount: deposit.amount + 1n },
  ];
  for (const other of others) expect(isAsAgreed(session, { ...deposit, ...other })).toBe(false);
});

it('is given back to any depositor and in any amount, as long as it is there, in tokens of the receipt', () => {
  expect(isToBeGivenBack(session, { ...deposit, depositor: 'G2', amount: 1n })).toBe(true);
  expect(isToBeGivenBack(session, { ...deposit, tokenAddress: 'T2' })).toBe(false);
  expect(isToBeGivenBack(session, { ...deposit, status: 'SETTLED' })).toBe(false);
  expect(isToBeGivenBack(session, null)).toBe(false);
  // Deposits of custody are never under way once their session is closed.
  expect(isToBeGivenBack({ ...session, depositor: 'CUSTODY' }, deposit)).toBe(false);
});
