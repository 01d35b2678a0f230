/**
 * Two ramp providers may use the same id, and the settlement contract identifies a deposit by that id alone:
 * of two sessions of one receipt, only one owns the deposit.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findDeposit } from '../../../src/resolvers/warehouse/offRamp/findDeposit.ts';
import { findOffRampSession } from '../../../src/resolvers/warehouse/offRamp/findOffRampSession.ts';
import {
  requireOpenAtProvider,
  type OpenedOffRampSession,
} from '../../../src/resolvers/warehouse/offRamp/offRampMoves.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import type { TestDatabase } from '../../support/database/database.ts';
import { insertSessionAlone } from '../../support/offRampSessionRow.ts';
import { idlePlatform, type StartedPlatform } from '../../support/platform.ts';

let database: TestDatabase;
let platform: Platform;
let end: StartedPlatform['end'];

beforeAll(async () => {
  ({ database, platform, end } = await idlePlatform());
});
afterAll(() => end());

type State = 'AWAITING_SIGNATURE' | 'DEPOSITING' | 'AWAITING_PAYOUT' | 'CLOSING' | 'CLOSED';

/**
 * Two sessions with one id and receipt, at one provider each.
 * @returns the first session
 */
async function sessions(...states: [State, State]): Promise<OpenedOffRampSession> {
  const [receiptId, providerSessionId] = [randomUUID(), randomUUID()];
  const at = new Date();
  const insert = (state: State, providerName: string) =>
    insertSessionAlone(database.handle.db, {
      state,
      receiptId,
      providerSessionId,
      providerName,
      providerAskedAt: at,
      depositor: 'HOLDER',
      signatureDueAt: at,
      depositedAt: state === 'AWAITING_PAYOUT' ? at : null,
      ...(state === 'CLOSED' ? { stateReason: 'refused', endedAt: at } : {}),
    });
  const id = await insert(states[0], 'the first provider');
  await insert(states[1], 'the second provider');
  const session = await findOffRampSession(platform.dependencies, id);
  if (!session) throw new Error('the session has vanished');
  return requireOpenAtProvider(session);
}

const DEPOSIT = {
  depositor: 'G',
  tokenAddress: 'token',
  amount: 1n,
  status: 'PENDING',
} as const;

it.each([
  ['AWAITING_SIGNATURE', 'AWAITING_PAYOUT', null],
  ['AWAITING_SIGNATURE', 'DEPOSITING', null],
  ['AWAITING_SIGNATURE', 'AWAITING_SIGNATURE', DEPOSIT],
  ['AWAITING_SIGNATURE', 'CLOSED', DEPOSIT],
  // A session keeps its own deposit, whatever the other one does.
  ['AWAITING_PAYOUT', 'DEPOSITING', DEPOSIT],
  // A late deposit is not given back while it may belong to the other session.
  ['CLOSED', 'AWAITING_SIGNATURE', null],
  ['CLOSED', 'CLOSING', null],
  ['CLOSED', 'AWAITING_PAYOUT', null],
  ['CLOSED', 'CLOSED', DEPOSIT],
] as const)('of a session in %s beside one in %s', async (state, other, found) => {
  const session = await sessions(state, other);
  const network = { ...platform.dependencies.network, offRampDeposit: async () => DEPOSIT };
  expect(await findDeposit({ ...platform.dependencies, network }, session)).toEqual(found);
});

it('is not written down as made by both', async () => {
  await expect(sessions('AWAITING_PAYOUT', 'AWAITING_PAYOUT')).rejects.toMatchObject({
    cause: { constraint_name: 'off_ramp_deposit' },
  });
});
