/**
 * What a list's off-ramp sessions, submissions and expiry runs have in other tables is read for the whole page
 * together, and each item gets its own.
 */
import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expiryItems, expiryRuns } from '../../../src/db/tables/index.ts';
import { prepareCashOutDeposit } from '../../../src/resolvers/wallets/prepareCashOutDeposit.ts';
import { askCounted } from '../../support/http/countStatements.ts';
import { startMarketplace, type Marketplace, type TestCaller } from '../../support/http/marketplace.ts';
import { createEmbeddedHolder } from '../../support/wallets/embeddedWallets.ts';
import { signAndSubmit } from '../../support/wallets/walletWorld.ts';
import { activeReceipt, cashOutInput, farmer, reaches } from '../../support/warehouse.ts';

const operator: TestCaller = { role: 'operator', subject: 'ops' };
const SESSIONS_BY_ID = 'from "off_ramp_sessions" where "off_ramp_sessions"."id" = ANY';
const holder = createEmbeddedHolder();
let market: Marketplace;
/** Oldest first; lists have the newest first. */
const sessionIds: string[] = [];
const receiptIds: string[] = [];

beforeAll(async () => {
  market = await startMarketplace();
  for (let count = 0; count < 3; count++) {
    const receipt = await activeReceipt(market.app, { farmerAddress: holder.address });
    const input = { ...cashOutInput(receipt), holder: holder.address };
    const { session, act } = await prepareCashOutDeposit(market.app.dependencies, farmer, input);
    if (act === null) throw new Error('nothing to sign');
    await signAndSubmit({ platform: market.app }, holder, act);
    await reaches(market.app, session.id, 'AWAITING_PAYOUT');
    sessionIds.push(session.id);
    receiptIds.push(receipt.id);
  }
});
afterAll(() => market.stop());

interface ListedSession {
  providerHistory: { observedAt: number }[];
  reviews: { flaggedBecause: string }[];
  holderActs: {
    txHash: string;
    offRampSession: { depositTxHash: string };
    transactions: { txHash: string }[];
  }[];
  depositTxHash: string;
}

it('reads the histories of a page of sessions in one statement each, of each session the latest', async () => {
  const { db } = market.app.dependencies;
  for (const [at, id] of sessionIds.entries()) {
    // Session by session more than a hundred.
    const numbers = sql`generate_series(1, ${100 + at}) AS n`;
    const moment = sql`to_timestamp(1000000 * ${at + 1} + n)`;
    await db.execute(sql`INSERT INTO off_ramp_provider_statuses (off_ramp_session_id, number, status, observed_at)
      SELECT ${id}, n + 1, 'pending', ${moment} FROM ${numbers}`);
    await db.execute(sql`INSERT INTO off_ramp_reviews
      (id, off_ramp_session_id, flagged_because, state_before, opened_at, closed_at, statuses_seen)
      SELECT gen_random_uuid(), ${id}, ${`${at}:`} || n, 'AWAITING_PAYOUT', ${moment}, now(), 1 FROM ${numbers}`);
  }
  const query = `{ list: offRampSessions { nodes { depositTxHash providerHistory { observedAt } reviews { flaggedBecause }
    holderActs { txHash offRampSession { depositTxHash } transactions { txHash } } } } }`;
  const histories = ['off_ramp_provider_statuses', 'off_ramp_reviews', 'holder_acts', 'attempts'];
  const read = [...histories.map((table) => `from "${table}"`), SESSIONS_BY_ID];
  const { nodes, statements } = await askCounted<ListedSession>(market, query, operator, ...read);
  expect(nodes).toHaveLength(3);
  for (const [place, node] of nodes.entries()) {
    const at = 2 - place;
    const shown = Array.from({ length: 100 }, (_, n) => n + 1 + at);
    expect(node.providerHistory.map(({ observedAt }) => observedAt)).toEqual(
      shown.map((n) => 1_000_000 * (at + 1) + n),
    );
    expect(node.reviews.map(({ flaggedBecause }) => flaggedBecause)).toEqual(shown.map((n) => `${at}:${n}`));
    const { depositTxHash: txHash } = node;
    const act = { txHash, transactions: [{ txHash }], offRampSession: { depositTxHash: txHash } };
    expect(node.holderActs).toEqual([act]);
  }
  expect(new Set(nodes.map(({ depositTxHash }) => depositTxHash)).size).toBe(3);
  expect(statements).toEqual([1, 1, 1, 1, 1]);
});

it('reads the sessions that a page of submissions is for in one statement', async () => {
  const query = `{ list: submissions(filter: { kinds: [DEPOSIT_OFF_RAMP] }) {
    nodes { target { ... on OffRampSession { id depositTxHash } } txHash } } }`;
  type Listed = { target: { depositTxHash: string }; txHash: string };
  const { nodes, statements } = await askCounted<Listed>(market, query, operator, SESSIONS_BY_ID);
  expect(nodes.map(({ target }) => target.depositTxHash)).toEqual(nodes.map(({ txHash }) => txHash));
  expect(nodes).toHaveLength(3);
  expect(statements).toEqual([1]);
});

it('reads the failures of a page of expiry runs in one statement, of each run the latest', async () => {
  const { db } = market.app.dependencies;
  for (const run of [1, 2]) {
    const runId = randomUUID();
    const startedAt = new Date();
    const swept = { startedAt, sweptAt: startedAt, dueAt: null };
    await db.insert(expiryRuns).values({ ...swept, id: runId, trigger: 'MANUAL', requestedBy: 'ops' });
    const failed = (receiptId: string, at: number) => {
      const message = `run ${run}, ${at}`;
      return { runId, receiptId, state: 'FAILED' as const, message, decidedAt: new Date(at * 1000) };
    };
    await db.insert(expiryItems).values(receiptIds.map(failed));
  }
  const query = '{ list: expiryRuns { nodes { failures { message receipt { id } } } } }';
  type Listed = { failures: { message: string }[] };
  const { nodes, statements } = await askCounted<Listed>(market, query, operator, 'from "expiry_items"');
  const messages = nodes.map(({ failures }) => failures.map(({ message }) => message));
  for (const run of [1, 2]) expect(messages).toContainEqual([2, 1, 0].map((at) => `run ${run}, ${at}`));
  expect(statements).toEqual([1]);
});
