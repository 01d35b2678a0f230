import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { changePastRules } from '../../support/database/database.ts';
import { mutate, projectInput } from '../../support/http/creditTrade.ts';
import { startMarketplace, type Marketplace } from '../../support/http/marketplace.ts';

let market: Marketplace;
beforeAll(async () => {
  const limits = { aboveTonnes: 0n, aboveKilograms: 0n, lifetimeSeconds: 3600 };
  market = await startMarketplace({ withIndexer: false, approvalPolicy: { isRequired: true, ...limits } });
});
afterAll(() => market.stop());

const PROJECT = ['createProject', 'CreateProjectInput', 'approvalRequest { state }'] as const;

async function askAs(subject: string) {
  const input = { ...projectInput(), idempotencyKey: randomUUID() };
  const { data, errors } = await mutate<object>(market, PROJECT, input, { role: 'developer', subject });
  return errors[0]?.extensions ?? data;
}

it('refuses a caller of whose requests for approval a thousand await a decision, and no other', async () => {
  const awaiting = expect.objectContaining({ approvalRequest: { state: 'AWAITING' } }) as unknown;
  const asked = { createProject: awaiting };
  expect(await askAs('careless')).toEqual(asked);
  await changePastRules(
    market.database,
    sql`INSERT INTO approval_requests SELECT (jsonb_populate_record(a, jsonb_build_object('id', gen_random_uuid()))).*
      FROM approval_requests a, generate_series(1, 999)`,
  );
  expect(await askAs('careless')).toMatchObject({
    code: 'RATE_LIMITED',
    limit: 1_000,
    retryAfterSeconds: expect.closeTo(3_600, -2) as number,
  });
  expect(await askAs('careful')).toEqual(asked);
  await changePastRules(
    market.database,
    sql`UPDATE approval_requests SET requested_at = requested_at - interval '2 hours', expires_at = expires_at - interval '2 hours'
      WHERE requested_by = 'careless'`,
  );
  expect(await askAs('careless')).toEqual(asked);
});
