/**
 * The embedded indexer over real HTTP: registrations, and signed deliveries, each sent once.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { createIndexerClient } from '../../../src/indexer/client.ts';
import type { IndexedEvent, IndexerClient } from '../../../src/indexer/client.ts';
import { addRegistration } from '../../../src/indexer/embedded/registrations.ts';
import { startEmbeddedIndexer } from '../../../src/indexer/embedded/startEmbeddedIndexer.ts';
import type {
  EmbeddedIndexer,
  EmbeddedIndexerOptions,
} from '../../../src/indexer/embedded/startEmbeddedIndexer.ts';
import { signBody, verifySignature } from '../../../src/lib/signature.ts';
import { createEmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import type { EmbeddedNetwork } from '../../support/embeddedNetwork.ts';
import { generateSecretKey } from '../../../src/lib/strkey.ts';
import { TONNE, land, mintedCarbon, prepare, retire } from '../../../devnet/calls.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import type { TestDatabase } from '../../support/database/database.ts';
import { collectGarbage } from '../../support/heap.ts';
import { startWebhookReceiver } from '../../support/http/webhookReceiver.ts';
import type { Delivered, WebhookReceiver } from '../../support/http/webhookReceiver.ts';

let database: TestDatabase;
let network: EmbeddedNetwork;
const toClose: (() => Promise<unknown>)[] = [];
const errors: string[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  network = await createEmbeddedNetwork({
    handle: database.handle,
    secretKey: generateSecretKey(randomBytes),
    clock: systemClock,
    randomBytes,
  });
});
afterAll(() => database.drop());
afterEach(async () => {
  for (const close of toClose.splice(0).toReversed()) await close();
  await database.handle.sql`DELETE FROM embedded_network.webhooks`;
  errors.length = 0;
});

async function start(options: Partial<EmbeddedIndexerOptions> = {}): Promise<EmbeddedIndexer> {
  const indexer = await startEmbeddedIndexer({
    handle: database.handle,
    clock: systemClock,
    randomBytes,
    onError: (message) => errors.push(message),
    ...options,
  });
  toClose.push(() => indexer.stop());
  return indexer;
}

async function receive(answer?: number | null): Promise<WebhookReceiver> {
  const receiver = await startWebhookReceiver(answer);
  toClose.push(() => receiver.close());
  return receiver;
}

function clientOf(indexer: EmbeddedIndexer): IndexerClient {
  return createIndexerClient({ url: indexer.url, token: indexer.token, fetch, timeoutMs: 5_000 });
}

const bearer = ({ token }: EmbeddedIndexer) => ({ authorization: `Bearer ${token}` });

function eventOf(delivery: Delivered): IndexedEvent {
  return (JSON.parse(delivery.rawBody.toString('utf8')) as { event: IndexedEvent }).event;
}

const EVENTUALLY = { interval: 20 };
const LONGEST_TRANSACTION = 16 * 1024;
/** The largest body that the server takes. */
const HOOK_BYTES = 256 * 1024;

describe('registrations', () => {
  it('gives the secret once, lists without it, and deletes', async () => {
    const client = clientOf(await start());
    expect(await client.health()).toEqual({ ok: true });
    const url = 'http://127.0.0.1:9/hook';
    const first = await client.registerWebhook(url, ['*']);
    const second = await client.registerWebhook(url, ['retired']);
    expect(first.secret).toMatch(/^[0-9a-f]{64}$/);
    expect(second.secret).not.toBe(first.secret);
    expect(second.id).not.toBe(first.id);
    const listed = await client.listWebhooks();
    expect(listed).toHaveLength(2);
    expect(listed).toContainEqual({ id: first.id, url, events: ['*'] });
    expect(listed).toContainEqual({ id: second.id, url, events: ['retired'] });
    expect(JSON.stringify(listed)).not.toContain(first.secret);
    expect(await client.deleteWebhook(first.id)).toBe(true);
    expect(await client.deleteWebhook(first.id)).toBe(false);
    expect((await client.listWebhooks()).map((webhook) => webhook.id)).toEqual([second.id]);
  });

  it('are shared by all instances', async () => {
    const [here, there] = [clientOf(await start()), clientOf(await start())];
    const { id } = await here.registerWebhook('http://127.0.0.1:9/hook', ['*']);
    expect((await there.listWebhooks()).map((webhook) => webhook.id)).toEqual([id]);
  });

  it('are those of the server beside it alone: other users of this machine know no token', async () => {
    const indexer = await start();
    const { id } = await clientOf(indexer).registerWebhook('http://127.0.0.1:9/hook', ['*']);
    for (const token of [undefined, '', 'x', `${indexer.token.slice(1)}0`, `${indexer.token}0`]) {
      const stranger = createIndexerClient({ url: indexer.url, token, fetch, timeoutMs: 5_000 });
      await expect(stranger.deleteWebhook(id)).rejects.toThrow(/status 401/);
      await expect(stranger.registerWebhook('http://127.0.0.1:9/theirs', ['*'])).rejects.toThrow(
        /status 401/,
      );
      await expect(stranger.listWebhooks()).rejects.toThrow(/status 401/);
    }
    expect((await clientOf(indexer).listWebhooks()).map((webhook) => webhook.id)).toEqual([id]);
  });

  it('refuses what it can’t keep', async () => {
    const indexer = await start();
    const post = async (body: string, type = 'application/json'): Promise<number> => {
      const headers = { 'content-type': type, ...bearer(indexer) };
      return (await fetch(`${indexer.url}/webhooks`, { method: 'POST', body, headers })).status;
    };
    const good = JSON.stringify({ url: 'http://127.0.0.1:9/hook', events: ['*'] });
    expect(await post('{')).toBe(400);
    expect(await post('{}')).toBe(400);
    expect(await post(JSON.stringify({ url: 'file:///etc/passwd', events: ['*'] }))).toBe(400);
    expect(await post(JSON.stringify({ url: 'http://127.0.0.1:9/hook', events: [] }))).toBe(400);
    expect(await post(JSON.stringify({ url: 'http://127.0.0.1:9/hook', events: ['x'.repeat(65)] }))).toBe(
      400,
    );
    expect(await post(`{"url":"${'x'.repeat(20_000)}"}`)).toBe(413);
    expect(await post(good, 'text/plain')).toBe(415);
    expect((await fetch(`${indexer.url}/nothing`, { headers: bearer(indexer) })).status).toBe(404);
    for (let at = 0; at < 100; at += 1) expect(await post(good)).toBe(201);
    expect(await post(good)).toBe(409);
    await expect(clientOf(indexer).registerWebhook('http://127.0.0.1:9/hook', ['*'])).rejects.toMatchObject({
      code: 'INDEXER_UNAVAILABLE',
    });
  });
});

describe('deliveries', () => {
  it('posts a retirement with a signature over its raw bytes, in the deployed indexers’ shape', async () => {
    const receiver = await receive();
    const client = clientOf(await start());
    const tokenAddress = await mintedCarbon(network, 5n);
    const { secret } = await client.registerWebhook(`${receiver.url}/here`, ['retired']);
    const prepared = await prepare(network, retire(tokenAddress, 2n * TONNE));
    await network.broadcast(prepared.signedBytes);
    await expect.poll(() => receiver.delivered.length, EVENTUALLY).toBe(1);

    const [delivery] = receiver.delivered;
    if (!delivery) throw new Error('not reached');
    expect(delivery.path).toBe('/hook/here');
    expect(delivery.headers['content-type']).toBe('application/json');
    const header = delivery.headers['x-service-signature'];
    expect(header).toBe(signBody(secret, delivery.rawBody));
    expect(delivery.headers['x-ankara-signature']).toBe(header);
    expect(verifySignature({ rawBody: delivery.rawBody, header: String(header), secrets: [secret] })).toBe(
      true,
    );

    const { records } = await network.retirementRecords(tokenAddress, 0, 1);
    const outcome = await network.outcome(prepared);
    if (outcome.status !== 'succeeded') throw new Error('not reached');
    const timestamp = Number(records[0]?.timestamp);
    expect(JSON.parse(delivery.rawBody.toString('utf8'))).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
      event: {
        id: expect.stringMatching(/^\d{19}-\d{10}$/) as string,
        contract: tokenAddress,
        eventType: 'retired',
        ledger: Number(outcome.ledger),
        txHash: prepared.hash,
        timestamp,
        data: {
          topics: [network.custodyAddress],
          value: [String(2n * TONNE), 'Ünïted Øil 🌍', 0, String(timestamp)],
        },
      },
    });
  });

  it('sends each event once to each registration, with several instances at work', async () => {
    const indexers = [await start(), await start(), await start()];
    const [all, burns] = [await receive(), await receive()];
    const client = clientOf(indexers[0] as EmbeddedIndexer);
    await client.registerWebhook(all.url, ['*']);
    await client.registerWebhook(burns.url, ['retired']);
    const tokenAddress = await mintedCarbon(network, 40n);
    await Promise.all(Array.from({ length: 40 }, () => land(network, retire(tokenAddress, TONNE))));
    await expect.poll(() => [all.delivered.length, burns.delivered.length], EVENTUALLY).toEqual([42, 40]);
    // Stopping waits for deliveries under way: none may come twice.
    for (const indexer of indexers) await indexer.stop();
    expect(new Set(all.delivered.map((delivery) => eventOf(delivery).id)).size).toBe(42);
    expect(all.begun()).toBe(42);
    expect(new Set(burns.delivered.map((delivery) => eventOf(delivery).txHash)).size).toBe(40);
    expect(burns.begun()).toBe(40);
    expect(errors).toEqual([]);
  });

  it('sends several events in one delivery where the receiver takes them, each once and signed', async () => {
    const [many, single] = [await receive(), await receive()];
    const first = await start();
    const client = clientOf(first);
    const { secret } = await client.registerWebhook(many.url, ['retired']);
    await client.registerWebhook(single.url, ['retired']);
    await first.stop();
    const tokenAddress = await mintedCarbon(network, 40n);
    for (let at = 0; at < 20; at += 1) await land(network, retire(tokenAddress, TONNE));
    const indexer = await start({ takesMany: (url) => url === many.url });
    await expect.poll(() => single.delivered.length, EVENTUALLY).toBe(20);
    await indexer.stop();
    expect(many.begun()).toBe(1);
    const indexes = many.delivered.flatMap(({ rawBody, headers }) => {
      expect(headers['x-service-signature']).toBe(signBody(secret, rawBody));
      const { events } = JSON.parse(rawBody.toString('utf8')) as { events: IndexedEvent[] };
      return events.map(({ data }) => (data.value as unknown[])[2]);
    });
    expect(indexes.toSorted((a, b) => Number(a) - Number(b))).toEqual(
      Array.from({ length: 20 }, (_, i) => i),
    );
  });

  it('splits what is too long for one delivery', async () => {
    const receiver = await receive();
    const first = await start();
    await clientOf(first).registerWebhook(receiver.url, ['long']);
    await first.stop();
    const tokenAddress = await mintedCarbon(network, 1n);
    await land(network, retire(tokenAddress, TONNE));
    const ids = Array.from({ length: 40 }, (_, at) => `long-${at}`);
    await database.handle.sql`
      INSERT INTO embedded_network.events (id, contract, event_type, ledger, tx_hash, timestamp, data)
      SELECT long.id, e.contract, 'long', e.ledger, e.tx_hash, e.timestamp,
        jsonb_build_object('topics', jsonb_build_array(), 'value', repeat('x', ${LONGEST_TRANSACTION}::int))
      FROM embedded_network.events e, json_array_elements_text(${JSON.stringify(ids)}::text::json) AS long (id)
      WHERE e.contract = ${tokenAddress} AND e.event_type = 'retired'`;
    const indexer = await start({ takesMany: () => true });
    const delivered = () => receiver.delivered.map(({ rawBody }) => rawBody);
    const idsOf = (body: Buffer) =>
      (JSON.parse(body.toString('utf8')) as { events: IndexedEvent[] }).events.map(({ id }) => id);
    await expect.poll(() => delivered().flatMap(idsOf).toSorted(), EVENTUALLY).toEqual(ids.toSorted());
    await indexer.stop();
    for (const body of delivered()) expect(body.length).toBeLessThanOrEqual(HOOK_BYTES);
    expect(receiver.begun()).toBe(4);
  });

  it('delivers events that no notification names, more than one claim has of them, at the next poll', async () => {
    const receiver = await receive();
    const first = await start();
    await clientOf(first).registerWebhook(receiver.url, ['unnamed']);
    await first.stop();
    const handle = { db: database.handle.db, listen: async () => async () => {} };
    await start({ handle, takesMany: () => true, pollMs: 20 });
    const tokenAddress = await mintedCarbon(network, 1n);
    await land(network, retire(tokenAddress, TONNE));
    await database.handle.sql`
      INSERT INTO embedded_network.events (id, contract, event_type, ledger, tx_hash, timestamp, data)
      SELECT 'unnamed-' || n, e.contract, 'unnamed', e.ledger, e.tx_hash, e.timestamp, e.data
      FROM embedded_network.events e, generate_series(1, 150) n
      WHERE e.contract = ${tokenAddress} AND e.event_type = 'retired'`;
    const countOf = ({ rawBody }: Delivered) =>
      (JSON.parse(rawBody.toString('utf8')) as { events: IndexedEvent[] }).events.length;
    await expect
      .poll(() => receiver.delivered.reduce((sum, delivery) => sum + countOf(delivery), 0), EVENTUALLY)
      .toBe(150);
  });

  it('drops what is queued for a receiver that hangs when it stops', async () => {
    const hanging = await receive(null);
    const indexer = await start({ deliveryTimeoutMs: 1_000 });
    await clientOf(indexer).registerWebhook(hanging.url, ['retired']);
    const tokenAddress = await mintedCarbon(network, 40n);
    await Promise.all(Array.from({ length: 40 }, () => land(network, retire(tokenAddress, TONNE))));
    await expect.poll(() => hanging.begun(), EVENTUALLY).toBeGreaterThan(0);
    await indexer.stop();
    expect(hanging.begun()).toBeLessThan(40);
  });

  it('delivers what was published while no indexer ran, but nothing from before the registration', async () => {
    const receiver = await receive();
    const tokenAddress = await mintedCarbon(network, 5n);
    // An indexer that runs before the registration would claim the mint, and deliver it to nothing.
    const registering = { db: database.handle.db, clock: systemClock, randomBytes };
    await addRegistration(registering, { url: receiver.url, events: ['*'] });
    await land(network, retire(tokenAddress, TONNE));
    await land(network, retire(tokenAddress, TONNE));
    await start();
    await expect.poll(() => receiver.delivered.length, EVENTUALLY).toBe(2);
    const types = receiver.delivered.map((delivery) => eventOf(delivery).eventType);
    expect(types).toEqual(['retired', 'retired']);
  });

  it('never repeats a delivery that failed, and lets no receiver hold up another', async () => {
    const [failing, hanging, good] = [await receive(500), await receive(null), await receive()];
    const indexer = await start({ deliveryTimeoutMs: 1_000 });
    const client = clientOf(indexer);
    for (const { url } of [failing, hanging, good]) await client.registerWebhook(url, ['retired']);
    await client.registerWebhook('http://127.0.0.1:9/closed-port', ['retired']);
    const tokenAddress = await mintedCarbon(network, 5n);
    for (let at = 0; at < 5; at += 1) await land(network, retire(tokenAddress, TONNE));
    await expect.poll(() => good.delivered.length, EVENTUALLY).toBe(5);
    await expect.poll(() => hanging.begun(), EVENTUALLY).toBeGreaterThan(0);
    collectGarbage();
    await expect.poll(() => errors.length, EVENTUALLY).toBe(15);
    await indexer.stop();
    expect([failing.begun(), hanging.begun(), good.begun()]).toEqual([5, 5, 5]);
  });
});
