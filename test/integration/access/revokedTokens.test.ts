/**
 * Bearer tokens revoked before their expiry, by token id or by subject and time of issue, on two instances.
 */
import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { changePastRules } from '../../support/database/database.ts';
import { MAX_REVOCATIONS } from '../../../src/identity/tokenRevocations.ts';
import { revokeTokens } from '../../../src/resolvers/access/tokenRevocations.ts';
import { askOver, TRANSPORTS } from '../../support/http/askOver.ts';
import { startMarketplace, tokenOf, type Marketplace } from '../../support/http/marketplace.ts';
import { openSocket, openStream } from '../../support/http/openedWith.ts';

let market: Marketplace;
let other: Marketplace;

beforeAll(async () => {
  market = await startMarketplace();
  other = await startMarketplace({ database: market.database, withIndexer: false });
});
afterAll(async () => {
  await other.stop();
  await market.stop();
});

const admin = { role: 'admin', subject: 'root' } as const;
const REVOKED = 'The token was revoked; get a new one.';
const REVOKE = `mutation ($input: RevokeTokensInput!) { revokeTokens(input: $input) {
  tokenRevocation { id jti subject issuedUntil reason revokedBy endsAt } } }`;
const LIST = `query ($filter: TokenRevocationFilter) {
  tokenRevocations(filter: $filter) { nodes { id jti subject reason } totalCount } }`;

interface Revocation {
  revokeTokens: { tokenRevocation: { id: string; issuedUntil: number | null; endsAt: number } };
}

async function revoke(input: Record<string, unknown>) {
  const answer = await market.send<Revocation>(REVOKE, { input }, admin);
  expect(answer.errors).toEqual([]);
  return answer.data?.revokeTokens.tokenRevocation ?? { id: '', issuedUntil: null, endsAt: 0 };
}

const buyer = (subject: string) => ({ role: 'buyer', subject }) as const;
const secondsAgo = (seconds: number) => ({ now: () => new Date(Date.now() - seconds * 1000) });
const nowSeconds = () => Math.floor(Date.now() / 1000);
const ask = async (bearer: string, url = market.url) => {
  const { status, errors } = await askOver('http', url, { query: '{ viewer { subject } }', bearer });
  return status === 200 ? 'accepted' : errors[0]?.message;
};

describe('a token that was revoked by its jti', () => {
  it.each(TRANSPORTS)('is refused over %s at once, although it was just accepted', async (transport) => {
    const jti = randomUUID();
    const [bearer, sibling] = await Promise.all([
      tokenOf(buyer('acme'), { jti }),
      tokenOf(buyer('acme'), { jti: randomUUID() }),
    ]);
    expect(await ask(bearer)).toBe('accepted');
    await revoke({ jti });
    const reply = await askOver(transport, market.url, { query: '{ __typename }', bearer });
    if (transport === 'websocket') expect([reply.closeCode, reply.closeReason]).toEqual([4403, REVOKED]);
    else expect([reply.status, reply.errors[0]?.message]).toEqual([401, REVOKED]);
    expect(await ask(sibling)).toBe('accepted');
    await expect.poll(() => ask(bearer, other.url)).toBe(REVOKED);
  });

  it('is listed until it would have expired, also when it is revoked twice', async () => {
    const jti = randomUUID();
    const first = await revoke({ jti, reason: 'lost laptop' });
    expect((await revoke({ jti })).id).toBe(first.id);
    expect(first.endsAt).toBeGreaterThan(nowSeconds() + 3600);
    const listed = await market.send(LIST, { filter: { jtis: [jti] } }, admin);
    expect(listed.data).toEqual({
      tokenRevocations: {
        nodes: [{ id: first.id, jti, subject: null, reason: 'lost laptop' }],
        totalCount: 1,
      },
    });
    const node = 'query ($id: ID!) { node(id: $id) { id ... on TokenRevocation { jti } } }';
    expect((await market.send(node, { id: first.id }, admin)).data).toEqual({ node: { id: first.id, jti } });
    expect((await market.send(node, { id: first.id }, buyer('acme'))).data).toEqual({ node: null });
    // The next revocation removes it after its end.
    const { handle } = market.database;
    await changePastRules({ handle }, sql`UPDATE token_revocations SET ends_at = now() WHERE jti = ${jti}`);
    expect((await market.send(LIST, { filter: { jtis: [jti] } }, admin)).data).toMatchObject({
      tokenRevocations: { nodes: [] },
    });
    expect((await market.send(node, { id: first.id }, admin)).data).toEqual({ node: null });
    await revoke({ jti: randomUUID() });
    expect(await handle.sql`SELECT 1 FROM token_revocations WHERE jti = ${jti}`).toEqual([]);
  });

  it('stays revoked, whichever program writes', async () => {
    const { id } = await revoke({ subject: `left-${randomUUID()}` });
    const uuid = Buffer.from(id, 'base64url').toString().split(':')[1] ?? '';
    const { sql: run } = market.database.handle;
    for (const change of [
      `DELETE FROM token_revocations WHERE id = '${uuid}'`,
      `UPDATE token_revocations SET issued_until = issued_until - interval '1 day' WHERE id = '${uuid}'`,
      `UPDATE token_revocations SET subject = 'another' WHERE id = '${uuid}'`,
    ]) {
      await expect(run.unsafe(change)).rejects.toThrow(/append-only/);
    }
  });
});

describe('the tokens of a subject', () => {
  it('are refused when they were issued before a time, or say nothing of it; API keys and others are not', async () => {
    const subject = `client-${randomUUID()}`;
    const [old, fromAhead, recent, others] = await Promise.all([
      tokenOf(buyer(subject), secondsAgo(600)),
      // A date of issue in the future counts as no date: the token would outlive the revocations of an hour.
      tokenOf(buyer(subject), secondsAgo(-3600)),
      tokenOf(buyer(subject), secondsAgo(60)),
      tokenOf(buyer(`${subject}-2`), secondsAgo(600)),
    ]);
    expect(await ask(fromAhead)).toBe('accepted');
    await revoke({ subject, issuedUntil: nowSeconds() - 300 });
    expect(await Promise.all([old, fromAhead, recent, others].map((bearer) => ask(bearer)))).toEqual([
      REVOKED,
      REVOKED,
      'accepted',
      'accepted',
    ]);
    // A later time extends the revocation; an earlier time shortens nothing.
    const later = await revoke({ subject, reason: 'left the company' });
    expect(later).toMatchObject({ reason: 'left the company', revokedBy: admin.subject });
    expect(await ask(recent)).toBe(REVOKED);
    expect(await revoke({ subject, issuedUntil: nowSeconds() - 1000 })).toEqual(later);
    expect(await ask(recent)).toBe(REVOKED);
  });

  it('are refused as long as they lived before their longest life was shortened', async () => {
    const subject = `client-${randomUUID()}`;
    const first = await revoke({ subject, issuedUntil: nowSeconds() - 300 });
    const { dependencies } = market.app;
    const tokenRevocations = { ...dependencies.tokenRevocations, maxTokenSeconds: 3600 };
    const again = await revokeTokens({ ...dependencies, tokenRevocations }, 'root', { subject });
    expect(again.issuedUntil?.getTime()).toBeGreaterThan((first.issuedUntil ?? 0) * 1000);
    expect(again.endsAt.getTime()).toBe(first.endsAt * 1000);
  });

  it('are refused when the identity provider’s clock was ahead and the database’s behind', async () => {
    const subject = `client-${randomUUID()}`;
    const bearer = await tokenOf(buyer(subject), secondsAgo(-9));
    expect(await ask(bearer)).toBe('accepted');
    await revoke({ subject });
    expect(await ask(bearer)).toBe(REVOKED);
  });

  it('that come after the revocation are good', async () => {
    const subject = `client-${randomUUID()}`;
    await revoke({ subject });
    // Simulates the passing of ten seconds, the most that an honest clock may be ahead.
    const newToken = () => tokenOf(buyer(subject), secondsAgo(-10));
    await expect.poll(async () => ask(await newToken()), { timeout: 5_000 }).toBe('accepted');
  });

  it.each([
    ['neither', {}, 'input', /neither.* was given/],
    ['both', { jti: 'a', subject: 'acme' }, 'input.subject', /both were given/],
    ['a time of one token', { jti: 'a', issuedUntil: 1 }, 'input.issuedUntil', /goes with input.subject/],
    ['a time ahead', { subject: 'acme', issuedUntil: nowSeconds() + 600 }, 'input.issuedUntil', /lie ahead/],
  ])('are not revoked by %s', async (_what, input, field, says) => {
    const { errors } = await market.send(REVOKE, { input }, admin);
    expect(errors[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field });
    expect(errors[0]?.message).toMatch(says);
  });
});

describe('what was opened with a revoked token closes with it', () => {
  it('on this instance and on another, sockets and event streams, while others go on', async () => {
    const subject = `client-${randomUUID()}`;
    const bearer = await tokenOf(buyer(subject));
    const feed = 'subscription { retirementFeed { cursor } }';
    const closings = await Promise.all(
      [market.url, other.url].flatMap((url) => [openSocket(url, bearer), openStream(url, bearer, feed)]),
    );
    const bystander = await openSocket(market.url, await tokenOf(buyer(`${subject}-2`)));
    await revoke({ subject });
    expect(await Promise.all(closings.map(({ ended }) => ended))).toEqual([
      '4403 The token was revoked.',
      'complete',
      '4403 The token was revoked.',
      'complete',
    ]);
    expect(bystander.isOpen()).toBe(true);
    bystander.close();
  });

  it('also when no notification came', async () => {
    const jti = randomUUID();
    const socket = await openSocket(market.url, await tokenOf(buyer('acme'), { jti }));
    await market.database.handle.sql`INSERT INTO token_revocations (id, jti, revoked_by, revoked_at, ends_at)
      VALUES (gen_random_uuid(), ${jti}, 'another program', now(), now() + interval '1 hour')`;
    expect(await socket.ended).toBe('4403 The token was revoked.');
  });
});

it('is known without the database: requests are answered while the table can not be read', async () => {
  const jti = randomUUID();
  await revoke({ jti });
  const { handle } = market.database;
  const answers = await handle.db.transaction(async (tx) => {
    await tx.execute(sql`LOCK TABLE token_revocations IN ACCESS EXCLUSIVE MODE`);
    return Promise.all(
      [await tokenOf(buyer('acme'), { jti }), await tokenOf(buyer('acme'))].map((bearer) => ask(bearer)),
    );
  });
  expect(answers).toEqual([REVOKED, 'accepted']);
});

it('finds room for as many as instances hold: then only those in force can be repeated or moved, until some end', async () => {
  const standing = randomUUID();
  const { id } = await revoke({ jti: standing });
  const subject = randomUUID();
  await revoke({ subject, issuedUntil: nowSeconds() - 60 });
  const { db } = market.database.handle;
  await db.execute(sql`
    INSERT INTO token_revocations (id, jti, revoked_by, revoked_at, ends_at)
    SELECT gen_random_uuid(), 'filler-' || n, 'root', now(), now() + interval '1 hour'
    FROM generate_series(1, ${MAX_REVOCATIONS} - (SELECT count(*)::int FROM token_revocations)) n`);
  const refused = await market.send(REVOKE, { input: { jti: randomUUID() } }, admin);
  expect(refused.errors.map(({ extensions }) => extensions.code)).toEqual(['CONFLICT']);
  expect((await revoke({ jti: standing })).id).toBe(id);
  const later = nowSeconds() - 30;
  expect((await revoke({ subject, issuedUntil: later })).issuedUntil).toBe(later);
  await changePastRules(
    market.database,
    sql`UPDATE token_revocations SET ends_at = now() - interval '1 second' WHERE jti LIKE 'filler-%'`,
  );
  await revoke({ jti: randomUUID() });
  const [left] = await db.execute<{ fillers: number }>(
    sql`SELECT count(*)::int AS fillers FROM token_revocations WHERE jti LIKE 'filler-%'`,
  );
  expect(left?.fillers).toBe(0);
});
