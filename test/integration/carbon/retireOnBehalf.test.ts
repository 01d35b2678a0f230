/**
 * Retirements for others: their purpose is fixed and public beside the record. Serial numbers, dry runs.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { reconcileAll } from '../../../src/reconciliation/reconcileAll.ts';
import { balanceOf, buy, buyer, mutate, newToken, payloadOf } from '../../support/http/creditTrade.ts';
import { startMarketplace, type Marketplace } from '../../support/http/marketplace.ts';

let market: Marketplace;
let tokenAddress: string;

beforeAll(async () => {
  market = await startMarketplace();
  tokenAddress = await newToken(market);
  await buy(market, 'broker', tokenAddress, 100);
});
afterAll(async () => {
  const report = await reconcileAll(market.app.dependencies);
  await market.stop();
  expect(report.findings).toEqual([]);
});

const PURPOSE = 'beneficiaryId jurisdiction reason period { from until } serialRange { first last }';

interface Purpose {
  beneficiaryId: string | null;
  jurisdiction: string | null;
  reason: string | null;
  period: { from: string; until: string } | null;
  serialRange: { first: string; last: string } | null;
}

interface Payload {
  txHash: string | null;
  retirement: (Purpose & { id: string; state: string; recordIndex: number | null }) | null;
  dryRun: object | null;
}

const retire = (input: Record<string, unknown>) =>
  mutate<Payload>(
    market,
    [
      'retire',
      'RetireInput',
      `txHash retirement { id state recordIndex ${PURPOSE} }
       dryRun { buyerId tonnes balanceAfter pricePerTonne { amount } project { tokenAddress } }`,
    ],
    { buyerId: 'broker', buyerName: 'Client Ltd', tokenAddress, ...input },
    buyer('broker'),
  );

const CLAIM = {
  beneficiaryId: 'LEI 5493001KJTIIGC8Y1R12',
  jurisdiction: 'ZA',
  reason: 'COMPLIANCE',
  period: { from: '2025-01-01', until: '2026-01-01' },
};

async function recordsOf(): Promise<(Purpose & { index: number; beneficiary: string })[]> {
  const { data, errors } = await market.send<{
    registry: { recordsConnection: { nodes: (Purpose & { index: number; beneficiary: string })[] } };
  }>(
    `query ($t: Address!) { registry(tokenAddress: $t) {
      recordsConnection(first: 10) { nodes { index beneficiary ${PURPOSE} } } } }`,
    {
      t: tokenAddress,
    },
  );
  expect(errors).toEqual([]);
  return data?.registry.recordsConnection.nodes ?? [];
}

describe('a retirement for another', () => {
  it('says publicly for whom and what, and the token keeps the record as it always was', async () => {
    const { retirement } = payloadOf(await retire({ amountCO2e: 12, ...CLAIM }));
    expect(retirement).toMatchObject({ ...CLAIM, state: 'RETIRED', recordIndex: 0 });
    const plain = payloadOf(await retire({ amountCO2e: 3 })).retirement;
    const nothing = { beneficiaryId: null, jurisdiction: null, reason: null, period: null };
    expect(plain).toMatchObject({ ...nothing, state: 'RETIRED' });

    const records = await recordsOf();
    expect(records).toEqual([
      { index: 0, beneficiary: 'Client Ltd', ...CLAIM, serialRange: retirement?.serialRange },
      { index: 1, beneficiary: 'Client Ltd', ...nothing, serialRange: plain?.serialRange },
    ]);
    expect(await market.network.carbonTotals(tokenAddress)).toMatchObject({
      totalRetired: toBaseUnits(15n),
    });

    const last = plain?.serialRange?.last;
    expect(last).toMatch(/-2024-000015$/);
    const BY_SERIAL = 'query ($s: String!) { retirementRecordBySerial(serial: $s) { index } }';
    const found = await market.send(BY_SERIAL, { s: last });
    expect(found).toMatchObject({ errors: [], data: { retirementRecordBySerial: { index: 1 } } });
    const none = await market.send(BY_SERIAL, { s: last?.replace('000015', '000016') });
    expect(none).toMatchObject({ errors: [], data: { retirementRecordBySerial: null } });
    const bad = await market.send(BY_SERIAL, { s: 'anything' });
    expect(bad.errors[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'serial' });
  });

  it.each([
    ['a period that ends before it begins', { period: { from: '2026-01-01', until: '2025-01-01' } }],
    ['an empty period', { period: { from: '2026-01-01', until: '2026-01-01' } }],
    ['no day', { period: { from: '2025-02-30', until: '2026-01-01' } }],
    ['a day of the year 0', { period: { from: '0000-01-01', until: '2026-01-01' } }],
    ['no country', { jurisdiction: 'XX' }],
    ['an unknown reason', { reason: 'FUN' }],
    ['an empty id', { beneficiaryId: ' ' }],
    ['a duty under the law of no country', { reason: 'COMPLIANCE' }],
  ])('is refused with %s, dry run or not', async (_name, input) => {
    const before = await balanceOf(market, 'broker', tokenAddress);
    for (const dryRun of [true, false]) {
      const answer = await retire({ amountCO2e: 1, dryRun, ...input });
      expect(answer.errors[0]?.extensions.code).toBe('BAD_USER_INPUT');
    }
    expect(await balanceOf(market, 'broker', tokenAddress)).toBe(before);
  });

  it('is another request with another purpose', async () => {
    const key = { idempotencyKey: randomUUID(), amountCO2e: 1 };
    const first = payloadOf(await retire({ ...key, reason: 'CORSIA' }));
    expect(payloadOf(await retire({ ...key, reason: 'CORSIA' })).retirement).toEqual(first.retirement);
    const other = await retire({ ...key, reason: 'ARTICLE_6' });
    expect(other.errors[0]?.extensions.code).toBe('IDEMPOTENCY_CONFLICT');
  });
});

describe('a dry run', () => {
  it('answers with the balance that would be, and burns, holds and keeps nothing', async () => {
    const { sql } = market.database.handle;
    const rows = () =>
      sql`SELECT (SELECT count(*) FROM retirements) AS made, (SELECT count(*) FROM transfers) AS posted,
        (SELECT count(*) FROM submissions) AS intents, (SELECT count(*) FROM idempotency_keys) AS keys`;
    const [before, balance] = [await rows(), BigInt(await balanceOf(market, 'broker', tokenAddress))];
    const input = { amountCO2e: 4, ...CLAIM, dryRun: true };
    expect(payloadOf(await retire(input))).toEqual({
      txHash: null,
      retirement: null,
      dryRun: {
        buyerId: 'broker',
        tonnes: '4',
        balanceAfter: (balance - 4n).toString(),
        pricePerTonne: null,
        project: { tokenAddress },
      },
    });
    expect(await rows()).toEqual(before);
    const tooMuch = await retire({ ...input, amountCO2e: 1_000 });
    expect(tooMuch.errors[0]?.extensions).toMatchObject({
      code: 'INSUFFICIENT_BALANCE',
      available: balance.toString(),
    });
  });
});

describe('the database refuses', () => {
  const refused = (statement: string, why: string) =>
    expect(market.database.handle.sql.unsafe(statement), statement).rejects.toThrow(why);

  it('a change of what was asked for, of what is settled, and of a state that is final', async () => {
    await refused(`UPDATE retirements SET beneficiary_id = 'mallory'`, 'is fixed');
    await refused(`UPDATE retirements SET reason = 'CORSIA' WHERE reason IS NULL`, 'is fixed');
    await refused(
      `UPDATE retirements SET period_from = NULL, period_until = NULL WHERE period_from IS NOT NULL`,
      'is fixed',
    );
    await refused(`UPDATE retirements SET amount_tonnes = amount_tonnes + 1`, 'is fixed');
    await refused(`UPDATE retirements SET record_index = record_index + 100`, 'is set once');
    await refused(`UPDATE retirements SET state = 'PENDING'`, "can't go from RETIRED");
    await refused('DELETE FROM retirements', 'append-only');
  });

  it('a period without its end, a jurisdiction that is no code, and compliance without one', async () => {
    const insert = (columns: string, values: string) =>
      `INSERT INTO retirements (id, project_id, buyer_id, beneficiary, note, amount_tonnes, state, created_at, ${columns})
        SELECT gen_random_uuid(), project_id, buyer_id, beneficiary, note, 1, 'PENDING', now(), ${values} FROM retirements LIMIT 1`;
    await refused(insert('period_from', `'2025-01-01'`), 'retirements_period');
    await refused(insert('period_from, period_until', `'2025-01-02', '2025-01-01'`), 'retirements_period');
    await refused(insert('jurisdiction', `'za'`), 'retirements_jurisdiction');
    await refused(insert('reason', `'COMPLIANCE'`), 'retirements_compliance');
  });
});
