/**
 * The indexer's hook and the feed behind it: forged, duplicated, misshapen, early and missing deliveries.
 */
import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { eq, isNull } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sealedPlace } from '../../../src/db/sealedColumns.ts';
import { indexerEvents, indexerRegistrations, retirementRecords } from '../../../src/db/tables/index.ts';
import { fillToken } from '../../../src/feed/fillToken.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { generateSecretKey } from '../../../src/lib/strkey.ts';
import { createProject } from '../../../src/resolvers/carbon/createProject.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import { receiveDelivery } from '../../../src/resolvers/carbon/receiveDelivery.ts';
import { retire as retireCredits } from '../../../src/resolvers/carbon/retire.ts';
import { watchRetirements } from '../../../src/resolvers/operations/watchRetirements.ts';
import { signBody } from '../../../src/lib/signature.ts';
import { createRetirementsHook } from '../../../src/webhooks/retirementsHook.ts';
import { storeRegistration } from '../../support/indexerRegistrations.ts';
import { startMarketplace, type Marketplace } from '../../support/http/marketplace.ts';
import { projectInput } from '../../../devnet/platform.ts';

let market: Marketplace;
let secret: string;

beforeAll(async () => {
  market = await startMarketplace();
  await watchRetirements(market.app.dependencies);
  secret = await liveSecret();
});
afterAll(() => market.stop());

async function liveSecret(): Promise<string> {
  const [live] = await market.database.handle.db
    .select()
    .from(indexerRegistrations)
    .where(isNull(indexerRegistrations.replacedAt));
  return market.app.dependencies.sealer.unseal(
    live?.sealedSecret ?? '',
    sealedPlace('registrationSecret', live?.id ?? ''),
  );
}

async function deliver(body: string | Blob, headers: Record<string, string> = {}) {
  const response = await fetch(new URL('/api/hooks/retirements', market.url), {
    method: 'POST',
    body,
    headers,
  });
  return { status: response.status, body: await response.text() };
}

const sign = (body: string, key = secret) => `sha256=${createHmac('sha256', key).update(body).digest('hex')}`;

const records = (tokenAddress: string) =>
  market.database.handle.db
    .select()
    .from(retirementRecords)
    .where(eq(retirementRecords.tokenAddress, tokenAddress))
    .orderBy(retirementRecords.index);

/** A token that an outside wallet also holds: the platform learns of its burns only from the network. */
async function tokenWithStranger() {
  const project = await createProject(market.app.dependencies, 'developer', projectInput());
  const tokenAddress = project.tokenAddress ?? '';
  const stranger = market.network.createSigner(generateSecretKey(randomBytes));
  await market.network.transfer(tokenAddress, stranger.address, toBaseUnits(10n));
  const retire = (beneficiary: string) =>
    stranger.retire({ tokenAddress, amount: toBaseUnits(1n), beneficiary, note: 'own wallet' });
  return { tokenAddress, retire };
}

const NOTHING = { status: 200, body: '' };

describe('watchRetirements', () => {
  it('leaves exactly one live registration, however often it is called, also at once', async () => {
    await Promise.all(Array.from({ length: 5 }, () => watchRetirements(market.app.dependencies)));
    const { webhookId } = await watchRetirements(market.app.dependencies);
    const listed = await market.app.dependencies.indexer.listWebhooks();
    expect(listed.map((webhook) => webhook.id)).toEqual([webhookId]);
    secret = await liveSecret();
  });
});

describe('deliveries', () => {
  it("shows a stranger's retirement through the real indexer, with its transaction", async () => {
    const { tokenAddress, retire } = await tokenWithStranger();
    const txHash = await retire('Stranger Ltd');
    await expect
      .poll(() => records(tokenAddress))
      .toMatchObject([{ index: 0, beneficiary: 'Stranger Ltd', note: 'own wallet', txHash }]);
  });

  it('answers 200 with an empty body to everything, and believes only what is signed', async () => {
    const { tokenAddress } = await tokenWithStranger();
    const body = JSON.stringify({ eventType: 'x', data: { beneficiary: 'Forged', tokenAddress, index: 0 } });
    const rubbish = [
      await deliver(body),
      await deliver(body, { 'x-service-signature': 'sha256=00' }),
      await deliver(body, { 'x-service-signature': sign(body, 'another secret') }),
      await deliver('', { 'x-service-signature': sign('') }),
      await deliver('{not json', { 'x-service-signature': sign('{not json') }),
      await deliver('null', { 'x-service-signature': sign('null') }),
      await deliver('{"data":{}}', { 'x-service-signature': sign('{"data":{}}') }),
      await deliver('{"__proto__":{"data":{"beneficiary":1}}}', {
        'x-service-signature': sign('{"__proto__":{"data":{"beneficiary":1}}}'),
      }),
      await deliver(new Blob([new Uint8Array([0xff, 0xfe, 0x00])]), { 'x-service-signature': 'sha256=ff' }),
      await deliver(body, { 'content-type': 'text/plain', 'x-service-signature': sign(body) }),
    ];
    expect(rubbish).toEqual(rubbish.map(() => NOTHING));
    // Even a signed delivery can't put a record into the feed that the token lacks.
    expect(await records(tokenAddress)).toEqual([]);
  });

  it('follows each event of a delivery that has several, except those of own transactions', async () => {
    const { dependencies } = market.app;
    const { tokenAddress } = await tokenWithStranger();
    const [byStranger, other] = [await tokenWithStranger(), await tokenWithStranger()];
    await purchase(dependencies, 'b', {
      buyerId: 'b',
      tokenAddress,
      amountCO2e: 1n,
      idempotencyKey: randomUUID(),
    });
    const own = await retireCredits(dependencies, 'b', {
      buyerId: 'b',
      buyerName: 'Own Ltd',
      tokenAddress,
      amountCO2e: 1n,
      note: '',
      idempotencyKey: randomUUID(),
    });
    const eventOf = (contract: string, index: number, txHash: string) => ({
      id: `${contract}/${index}`,
      contract,
      txHash,
      data: { topics: ['G'], value: ['1', 'x', index, '1'] },
    });
    const body = JSON.stringify({
      id: randomUUID(),
      events: [
        eventOf(tokenAddress, 0, own.txHash ?? ''),
        eventOf(byStranger.tokenAddress, 0, 'ab'.repeat(32)),
        { id: 'no retirement' },
        eventOf(other.tokenAddress, 0, 'cd'.repeat(32)),
      ],
    });
    const filled: string[] = [];
    const feedFiller = {
      ...dependencies.feedFiller,
      requestFill: (token: { tokenAddress: string }) => void filled.push(token.tokenAddress),
    };
    const delivery = { rawBody: Buffer.from(body), signature: sign(body) };
    expect(await receiveDelivery({ ...dependencies, feedFiller }, delivery)).toBe('accepted');
    expect(filled).toEqual([byStranger.tokenAddress, other.tokenAddress]);
    const kept = await dependencies.db.select().from(indexerEvents);
    expect(kept.map((event) => event.tokenAddress).toSorted()).toEqual(filled.toSorted());
    expect(await records(tokenAddress)).toMatchObject([{ beneficiary: 'Own Ltd', txHash: own.txHash }]);
  });

  it('that come before their secret is stored are made up for, also when the indexer is away after that', async () => {
    const { dependencies } = market.app;
    const { tokenAddress, retire } = await tokenWithStranger();
    const deps = {
      ...dependencies,
      indexer: {
        ...dependencies.indexer,
        async registerWebhook(url: string) {
          // A deleted registration prevents a delivery signed with a stored secret.
          for (const { id } of await dependencies.indexer.listWebhooks())
            await dependencies.indexer.deleteWebhook(id);
          await retire('Early Ltd');
          const body = JSON.stringify({ eventType: 'r', data: { beneficiary: 'x', contract: tokenAddress } });
          const early = { rawBody: Buffer.from(body), signature: sign(body, 'a late secret') };
          expect(await receiveDelivery(dependencies, early)).toBe('unverified');
          return { id: randomUUID(), url, events: ['*'], secret: 'a late secret' };
        },
        listWebhooks: () => Promise.reject(new Error('away')),
      },
    };
    await expect(watchRetirements(deps)).rejects.toThrow('away');
    await expect.poll(() => records(tokenAddress)).toMatchObject([{ beneficiary: 'Early Ltd' }]);
    await watchRetirements(dependencies);
    secret = await liveSecret();
  });

  it('count against their address where they are signed with no secret, or with one replaced long ago', async () => {
    const { dependencies } = market.app;
    const body = Buffer.from('{"data":{"beneficiary":"x","contract":"C"}}');
    const hook = createRetirementsHook(dependencies, {
      signatureHeaders: ['x-other', 'X-Service-Signature'],
    });
    const outcome = (signature: string) =>
      hook({
        body,
        headers: { 'x-service-signature': signature },
        requestId: 'r',
        remoteAddress: '127.0.0.1',
      });
    await storeRegistration(dependencies, 'replaced a little ago', { isReplaced: true, agoMs: 4 * 60_000 });
    await storeRegistration(dependencies, 'replaced long ago', { isReplaced: true, agoMs: 6 * 60_000 });
    for (const key of [secret, 'replaced a little ago'])
      expect(await outcome(signBody(key, body))).toBeNull();
    for (const key of ['replaced long ago', 'another secret', ''])
      expect(await outcome(signBody(key, body))).toBe('unverified');
    // What can be no signature costs no statement.
    const db = null as unknown as typeof dependencies.db;
    const delivery = { rawBody: body, signature: 'sha256=00' };
    expect(await receiveDelivery({ ...dependencies, db }, delivery)).toBe('unverified');
  });

  it('takes an oversize body without keeping it', async () => {
    const oversize = 'x'.repeat(5_000_000);
    const answer = await deliver(oversize, { 'x-service-signature': sign(oversize) }).catch(() => NOTHING);
    expect(answer).toEqual(NOTHING);
  });
});

const OWN_SECRET = 'the secret';

/** A marketplace without an indexer, in which a stranger holds tonnes of a project. */
async function besideStranger(
  tonnes: bigint,
  work: (world: {
    own: Marketplace;
    projectId: string;
    tokenAddress: string;
    stranger: ReturnType<Marketplace['network']['createSigner']>;
    /** The stranger burns one tonne. */
    retire(beneficiary: string): Promise<string>;
    /** Posts to the hook, signed with OWN_SECRET. */
    post(content: object, header?: string): Promise<void>;
  }) => Promise<void>,
): Promise<void> {
  const own = await startMarketplace({ withIndexer: false });
  try {
    const project = await createProject(own.app.dependencies, 'developer', projectInput());
    const tokenAddress = project.tokenAddress ?? '';
    const stranger = own.network.createSigner(generateSecretKey(randomBytes));
    await own.network.transfer(tokenAddress, stranger.address, toBaseUnits(tonnes));
    await work({
      own,
      projectId: project.id,
      tokenAddress,
      stranger,
      retire: (beneficiary) =>
        stranger.retire({ tokenAddress, amount: toBaseUnits(1n), beneficiary, note: '' }),
      async post(content, header = 'x-service-signature') {
        const body = JSON.stringify(content);
        const headers = { [header]: sign(body, OWN_SECRET) };
        await fetch(new URL('/api/hooks/retirements', own.url), { method: 'POST', body, headers });
      },
    });
  } finally {
    await own.stop();
  }
}

describe('without an indexer', () => {
  it.each([
    [
      'the deployed shape',
      (t: string) => ({
        id: randomUUID(),
        event: {
          id: `event-${t}`,
          contract: t,
          eventType: 'retired',
          ledger: 1,
          txHash: `0x${'ab'.repeat(32)}`,
          timestamp: 1,
          data: { topics: ['G'], value: ['1', 'x', 0, '1'] },
        },
      }),
    ],
    [
      'the specified shape with the token',
      (t: string) => ({ eventType: 'r', data: { beneficiary: 'x', contract: t } }),
    ],
    ['the specified shape alone', () => ({ eventType: 'r', data: { beneficiary: 'x' } })],
  ])('reads the token when a delivery of %s points at it', async (_name, bodyFor) => {
    await besideStranger(10n, async ({ own, tokenAddress, retire, post }) => {
      await storeRegistration(own.app.dependencies, OWN_SECRET);
      await retire('Stranger');
      for (let i = 0; i < 3; i++) await post(bodyFor(tokenAddress), 'x-ankara-signature');
      await expect
        .poll(() => own.database.handle.db.select().from(retirementRecords))
        .toMatchObject([{ index: 0, beneficiary: 'Stranger' }]);
    });
  });

  it('believes no hash of a signed delivery, and finds the true one by itself', async () => {
    await besideStranger(10n, async ({ own, projectId, tokenAddress, stranger, retire, post }) => {
      const { dependencies } = own.app;
      const { db } = own.database.handle;
      await storeRegistration(dependencies, OWN_SECRET);
      const deliverHash = (index: number, txHash: string) =>
        post({ eventType: 'r', data: { beneficiary: 'x', contract: tokenAddress, index, txHash } });
      const hashes = async () => {
        const rows = await db.select().from(retirementRecords).orderBy(retirementRecords.index);
        return rows.map(({ txHash }) => txHash);
      };
      // This delivery comes before the record is stored, with another known transaction's hash.
      const other = await own.network.transfer(tokenAddress, stranger.address, toBaseUnits(1n));
      const first = await retire('Stranger');
      await deliverHash(0, typeof other === 'string' ? other : 'ab'.repeat(32));
      await expect.poll(hashes).toEqual([first]);

      // This delivery comes after the feed filler has stored the record, at first without a hash.
      const second = await retire('Stranger');
      await fillToken(dependencies.feed, { projectId, tokenAddress });
      expect(await hashes()).toEqual([first, null]);
      await deliverHash(1, 'cd'.repeat(32));
      await expect.poll(hashes).toEqual([first, second]);

      // No delivery comes: a round of the feed filler finds the hash.
      const third = await retire('Stranger');
      await dependencies.feedFiller.round();
      await dependencies.feedFiller.round();
      expect(await hashes()).toEqual([first, second, third]);
      expect(await db.select().from(indexerEvents)).toEqual([]);
    });
  });

  it('fills the feed with what was never delivered', async () => {
    await besideStranger(300n, async ({ own, retire }) => {
      const beneficiaries = Array.from({ length: 250 }, (_, i) => `b${i}`);
      await Promise.all(beneficiaries.map(retire));
      await own.app.dependencies.feedFiller.round();
      const stored = await own.database.handle.db
        .select()
        .from(retirementRecords)
        .orderBy(retirementRecords.index);
      expect(stored.map((record) => record.index)).toEqual(beneficiaries.map((_, i) => i));
      expect(stored.map((record) => record.beneficiary).sort()).toEqual(beneficiaries.sort());
    });
  });
});
