/**
 * Searches for credits by clients: filters, orders and pages.
 */
import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projects as projectRows } from '../../../src/db/tables/index.ts';
import { encodeGlobalId } from '../../../src/schema/core/globalIds.ts';
import { insertProject } from '../../support/database/projects.ts';
import { callers, startCarbonExample } from '../../support/http/carbonExample.ts';
import type { Page } from '../../support/http/carbonExample.ts';
import type { Marketplace, TestCaller } from '../../support/http/marketplace.ts';

let market: Marketplace;
let tokens: string[];

beforeAll(async () => {
  ({ market, tokens } = await startCarbonExample());
});

afterAll(() => market.stop());

async function projects(args: string): Promise<Page<{ tokenAddress: string; vintageYear: number }>> {
  const { data, errors } = await market.send<{
    projects: Page<{ tokenAddress: string; vintageYear: number }>;
  }>(
    `{ projects(${args}) {
      edges { cursor node { tokenAddress vintageYear } }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`,
  );
  expect(errors).toEqual([]);
  if (data === null) throw new Error('no data');
  return data.projects;
}

const vintages = (page: Page<{ vintageYear: number }>) => page.edges.map(({ node }) => node.vintageYear);

describe('projects', () => {
  it('come a page at a time, forwards and backwards, in each order', async () => {
    for (const [order, expected] of [
      ['NEWEST', [2022, 2021, 2020]],
      ['OLDEST', [2020, 2021, 2022]],
      ['VINTAGE_NEWEST', [2022, 2021, 2020]],
      ['VINTAGE_OLDEST', [2020, 2021, 2022]],
    ] as const) {
      const first = await projects(`first: 2, orderBy: ${order}`);
      expect(vintages(first)).toEqual(expected.slice(0, 2));
      expect(first.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false });
      const second = await projects(`first: 2, orderBy: ${order}, after: "${first.pageInfo.endCursor}"`);
      expect(vintages(second)).toEqual(expected.slice(2));
      expect(second.pageInfo.hasNextPage).toBe(false);
      const back = await projects(`last: 2, orderBy: ${order}, before: "${second.pageInfo.startCursor}"`);
      expect(vintages(back)).toEqual(expected.slice(0, 2));
    }
    expect(vintages(await projects('last: 1, orderBy: QUANTITY_LARGEST'))).toEqual([2022]);
  });

  it('are asked for again after the end of a list that was empty', async () => {
    const { pageInfo } = await projects('first: 2, filter: { countryCodes: ["ZW"] }');
    const { data, errors } = await market.send(
      'query ($after: String) { projects(first: 2, after: $after) { nodes { vintageYear } } }',
      { after: pageInfo.endCursor },
    );
    expect(errors).toEqual([]);
    expect(data).toEqual({ projects: { nodes: [{ vintageYear: 2022 }, { vintageYear: 2021 }] } });
  });

  it('come without cursors too, and are counted over all pages', async () => {
    const { data, errors } = await market.send(`{
      all: projects { nodes { vintageYear } totalCount pageInfo { hasNextPage } }
      one: projects(first: 1, orderBy: OLDEST) { nodes { vintageYear } totalCount }
      brazil: projects(filter: { countryCodes: ["BR"] }) { totalCount }
    }`);
    expect(errors).toEqual([]);
    expect(data).toEqual({
      all: {
        nodes: [{ vintageYear: 2022 }, { vintageYear: 2021 }, { vintageYear: 2020 }],
        totalCount: 3,
        pageInfo: { hasNextPage: false },
      },
      one: { nodes: [{ vintageYear: 2020 }], totalCount: 3 },
      brazil: { totalCount: 1 },
    });
  });

  it('are filtered', async () => {
    expect(vintages(await projects('first: 10, filter: { countryCodes: ["BR"] }'))).toEqual([2020]);
    expect(vintages(await projects('first: 10, filter: { vintageYears: [2021], buyable: true }'))).toEqual([
      2021,
    ]);
    expect(vintages(await projects('first: 10, filter: { buyable: false }'))).toEqual([]);
    expect(vintages(await projects('first: 10, filter: { projectTypes: ["nothing"] }'))).toEqual([]);
  });

  it('show which kinds of project and of credit there are, in the spelling that the filter needs', async () => {
    const { data } = await market.send<Record<'projectTypes' | 'creditTypes', string[]>>(
      '{ projectTypes creditTypes }',
    );
    const { projectTypes = [], creditTypes = [] } = data ?? {};
    for (const kinds of [projectTypes, creditTypes]) expect(kinds).not.toEqual([]);
    for (const type of creditTypes) {
      const named = await projects(`first: 10, filter: { creditTypes: [${JSON.stringify(type)}] }`);
      expect(vintages(named), type).not.toEqual([]);
    }
  });

  it.each([
    ['both sizes', 'first: 1, last: 1', 'last'],
    ['none', 'first: 0', 'first'],
    ['too many', 'last: 101', 'last'],
    ['a negative number', 'first: -1', 'first'],
    ['garbage as a cursor', 'first: 1, after: "garbage"', 'after'],
    ['an empty cursor', 'first: 1, before: ""', 'before'],
    [
      'a forged moment',
      `first: 1, after: "${forged('projects:NEWEST', '2024-99-99T00:00:00.000Z', randomUUID())}"`,
      'after',
    ],
    [
      'a forged id',
      `first: 1, after: "${forged('projects:NEWEST', '2024-01-01T00:00:00.000Z', "' OR 1=1")}"`,
      'after',
    ],
    [
      'a number that is too large',
      `orderBy: VINTAGE_NEWEST, first: 1, after: "${forged('projects:VINTAGE_NEWEST', '99999999999', randomUUID())}"`,
      'after',
    ],
    [
      'a number beyond 64 bits',
      `orderBy: QUANTITY_LARGEST, first: 1, after: "${forged('projects:QUANTITY_LARGEST', '9223372036854775808', randomUUID())}"`,
      'after',
    ],
    [
      'a word for a quantity',
      `orderBy: QUANTITY_LARGEST, first: 1, after: "${forged('projects:QUANTITY_LARGEST', 'much', randomUUID())}"`,
      'after',
    ],
  ])('are not listed with %s', async (_what, args, field) => {
    const { errors } = await market.send(`{ projects(${args}) { edges { cursor } } }`);
    expect(errors[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field });
  });

  it('are not listed with a cursor of another order', async () => {
    const { pageInfo } = await projects('first: 1, orderBy: OLDEST');
    const { errors } = await market.send(
      `{ projects(first: 1, orderBy: NEWEST, after: "${pageInfo.endCursor}") { edges { cursor } } }`,
    );
    expect(errors[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'after' });
  });

  it('are found by their token, with what is where', async () => {
    const { data } = await market.send(
      `query ($t: Address!) { project(tokenAddress: $t) {
        vintageYear unsoldTonnes books { issued inventory heldByBuyers retiring retired } transactions { kind state } } }`,
      { t: tokens[0] },
    );
    expect(data).toEqual({
      project: {
        vintageYear: 2020,
        unsoldTonnes: '900',
        books: { issued: '1000', inventory: '900', heldByBuyers: '70', retiring: '0', retired: '30' },
        transactions: [
          { kind: 'DEPLOY_CARBON_CREDIT', state: 'LANDED' },
          { kind: 'MINT', state: 'LANDED' },
        ],
      },
    });
  });

  it('show its developer and operators alone whose they are, and why they are not open', async () => {
    const { db } = market.app.dependencies;
    const id = await insertProject(db, { quantityTonnes: 1n });
    await db.update(projectRows).set({ stateReason: 'The factory is paused.' }).where(eq(projectRows.id, id));
    const shownTo = async (caller: TestCaller | null) =>
      (
        await market.send<{ node: { stateReason: string | null; developerId: string | null } }>(
          'query ($id: ID!) { node(id: $id) { ... on Project { stateReason developerId } } }',
          { id: encodeGlobalId('Project', id) },
          caller,
        )
      ).data?.node;
    const own: TestCaller = { role: 'developer', subject: 'developer' };
    const all = { stateReason: 'The factory is paused.', developerId: own.subject };
    for (const caller of [own, callers.operator]) expect(await shownTo(caller)).toEqual(all);
    const others: (TestCaller | null)[] = [callers.developer, { role: 'buyer', subject: own.subject }, null];
    const none = { stateReason: null, developerId: null };
    for (const caller of others) expect(await shownTo(caller)).toEqual(none);
  });
});

function forged(...parts: string[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}
