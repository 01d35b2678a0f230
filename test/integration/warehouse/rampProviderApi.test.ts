/**
 * Callers see the kind of an off-ramp session's ramp provider; only operators see its name, and the reviews.
 */
import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { encodeGlobalId } from '../../../src/schema/core/globalIds.ts';
import { changePastRules } from '../../support/database/database.ts';
import { startMarketplace, type Marketplace, type TestCaller } from '../../support/http/marketplace.ts';
import { depositedCashOut, farmer } from '../../support/warehouse.ts';

const owner: TestCaller = { role: 'farmer', subject: farmer.subject };
const operator: TestCaller = { role: 'operator', subject: 'olga' };
const SESSION = 'query ($id: ID!) { offRampSession(id: $id) { rampProvider rampProviderName } }';
const CANCEL = `mutation ($id: ID!) {
  cancelCashOut(input: { offRampSessionId: $id, idempotencyKey: "k" }) { offRampSession { id } } }`;

let market: Marketplace;
beforeAll(async () => {
  market = await startMarketplace({ withIndexer: false });
});
afterAll(() => market.stop());

it('shows farmers its kind, and operators its name, too', async () => {
  const session = await depositedCashOut(market.app);
  const id = encodeGlobalId('OffRampSession', session.id);
  const shownTo = async (caller: TestCaller) =>
    (await market.send<{ offRampSession: object }>(SESSION, { id }, caller)).data?.offRampSession;
  for (const caller of [owner, operator]) {
    expect(await shownTo(caller)).toEqual({ rampProvider: 'MANUAL', rampProviderName: null });
  }
  const name = 'ramp-internal';
  await changePastRules(
    market.database,
    sql`UPDATE off_ramp_sessions SET provider_name = ${name} WHERE id = ${session.id}`,
  );
  expect(await shownTo(owner)).toEqual({ rampProvider: 'HTTP', rampProviderName: null });
  expect(await shownTo(operator)).toEqual({ rampProvider: 'HTTP', rampProviderName: name });
  const cancelled = await market.send(CANCEL, { id }, owner);
  expect(cancelled.errors[0]?.extensions.code).toBe('CONFLICT');
  expect(JSON.stringify(cancelled)).not.toContain(name);
});

it('shows its reviews, with who decided and why, to operators alone', async () => {
  const session = await depositedCashOut(market.app);
  await changePastRules(
    market.database,
    sql`INSERT INTO off_ramp_reviews (id, off_ramp_session_id, flagged_because, state_before, opened_at, closed_at,
      statuses_seen) VALUES (${randomUUID()}, ${session.id}, 'tested', 'OPENING', now(), now(), 0)`,
  );
  const query = 'query ($id: ID!) { offRampSession(id: $id) { reviews { flaggedBecause } } }';
  const id = encodeGlobalId('OffRampSession', session.id);
  const shownTo = async (caller: TestCaller) =>
    (await market.send<{ offRampSession: object }>(query, { id }, caller)).data?.offRampSession;
  expect(await shownTo(operator)).toEqual({ reviews: [{ flaggedBecause: 'tested' }] });
  expect(await shownTo(owner)).toEqual({ reviews: [] });
});
