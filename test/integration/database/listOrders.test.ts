/**
 * Lists read the rows of a page from an index in their order: sorting the table is slow once it is long.
 */
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readPrimary } from '../../../src/db/publicReads.ts';
import type { Db } from '../../../src/db/connection.ts';
import type { KeysetPage } from '../../../src/db/keyset.ts';
import { listRuns } from '../../../src/jobs/expiryRuns.ts';
import { listApiKeys } from '../../../src/resolvers/access/apiKeys.ts';
import { listAuditEntries } from '../../../src/resolvers/access/listAuditEntries.ts';
import { listProjects, type ProjectOrder } from '../../../src/resolvers/carbon/listProjects.ts';
import { listRetirements } from '../../../src/resolvers/carbon/findRetirement.ts';
import type { Dependencies } from '../../../src/resolvers/core/dependencies.ts';
import { listSubmissions } from '../../../src/resolvers/operations/listSubmissions.ts';
import { listPledges } from '../../../src/resolvers/warehouse/findPledge.ts';
import { listReceipts } from '../../../src/resolvers/warehouse/listReceipts.ts';
import { listOffRampSessions } from '../../../src/resolvers/warehouse/offRamp/listOffRampSessions.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';

let database: TestDatabase;
let client: postgres.Sql;
let asked: { query: string; params: unknown[] }[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  client = postgres(database.url, { max: 1 });
  // With these settings the planner sorts only if no index has the order, even on empty tables.
  await client`SET enable_seqscan = off`;
  await client`SET enable_bitmapscan = off`;
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

type List = (deps: Dependencies, page: KeysetPage<never>) => Promise<unknown>;

const RECEIPT = '01a1fd63-66ce-7db7-82fe-eaf1f3dff1de';
const ORDERS: ProjectOrder[] = ['NEWEST', 'OLDEST', 'VINTAGE_NEWEST', 'VINTAGE_OLDEST', 'QUANTITY_LARGEST'];
const LISTS: [string, List][] = [
  ...ORDERS.map((order): [string, List] => [
    `projects, ${order}`,
    (deps, page) => listProjects(deps, {}, order).list(page),
  ]),
  ['retirements', (deps, page) => listRetirements(deps, {}).list(page)],
  ["a buyer's retirements", (deps, page) => listRetirements(deps, { buyerIds: ['acme'] }).list(page)],
  [
    'retirements that an operator decides',
    (deps, page) => listRetirements(deps, { states: ['NEEDS_REVIEW'] }).list(page),
  ],
  ['receipts', (deps, page) => listReceipts(deps, {}).list(page)],
  ['receipts of a state', (deps, page) => listReceipts(deps, { states: ['NEEDS_REVIEW'] }).list(page)],
  [
    "a receipt's pledges",
    (deps, page) => listPledges(deps, { receiptId: RECEIPT, lenderId: undefined }).list(page),
  ],
  ['off-ramp sessions', (deps, page) => listOffRampSessions(deps, {}).list(page)],
  [
    'off-ramp sessions of a state',
    (deps, page) => listOffRampSessions(deps, { states: ['NEEDS_REVIEW'] }).list(page),
  ],
  ['submissions', (deps, page) => listSubmissions(deps, {}).list(page)],
  ['submissions to decide', (deps, page) => listSubmissions(deps, { reviewCauses: ['REFUSED'] }).list(page)],
  ['expiry runs', (deps, page) => listRuns(deps, {}).list(page)],
  ['API keys', (deps, page) => listApiKeys(deps, {}).list(page)],
  ['audit entries', (deps, page) => listAuditEntries(deps, {}).list(page)],
];

it.each(LISTS)('%s', async (_name, list) => {
  const logger = {
    logQuery: (query: string, params: unknown[]) => void asked.push({ query, params }),
  };
  const db = drizzle(client, { logger }) as unknown as Db;
  for (const inverted of [false, true]) {
    asked = [];
    await list({ db, publicReads: readPrimary(db), ramp: { name: 'manual' } } as Dependencies, {
      limit: 21,
      inverted,
    });
    expect(asked).toHaveLength(1);
    for (const { query, params } of asked) {
      const plan = await client.unsafe(`EXPLAIN ${query}`, params as never[]);
      const text = plan.map((line) => String(line['QUERY PLAN'])).join('\n');
      expect(text).toContain('Index');
      expect(text).not.toContain('Sort');
    }
  }
});
