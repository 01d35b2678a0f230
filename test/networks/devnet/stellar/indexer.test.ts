/**
 * The network's indexer double: signed deliveries in the deployed format.
 */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createIndexerClient } from '../../../../src/indexer/client.ts';
import type { IndexedEvent, IndexerClient } from '../../../../src/indexer/client.ts';
import { readRetirementHints } from '../../../../src/indexer/retirementEvent.ts';
import { verifySignature } from '../../../../src/lib/signature.ts';
import { startWebhookReceiver } from '../../../support/http/webhookReceiver.ts';
import type { WebhookReceiver } from '../../../support/http/webhookReceiver.ts';
import { startStellarIndexer } from '../../../../devnet/stellar/indexer.ts';
import { retireArguments, startSorobanTestbed } from '../../../support/stellar/testbed.ts';
import type { SorobanTestbed } from '../../../support/stellar/testbed.ts';

const EVENTUALLY = { interval: 20 };

let testbed: SorobanTestbed;
let indexer: Awaited<ReturnType<typeof startStellarIndexer>>;
let client: IndexerClient;
let receiver: WebhookReceiver;
beforeEach(async () => {
  testbed = await startSorobanTestbed();
  indexer = await startStellarIndexer(testbed.devnet);
  client = createIndexerClient({ url: indexer.url, fetch, timeoutMs: 5_000 });
  receiver = await startWebhookReceiver();
});
afterEach(async () => {
  await receiver.close();
  await indexer.stop();
  await testbed.devnet.close();
});

const retire = (amount: bigint, beneficiary: string) =>
  testbed.client.call(
    testbed.custody,
    testbed.token,
    'retire',
    retireArguments(testbed.custody, amount, beneficiary),
  );

it('delivers a retirement once, signed, positional, with the record’s index', async () => {
  const { custody, token, devnet } = testbed;
  await retire(1n, 'before any webhook was registered');
  const { secret } = await client.registerWebhook(receiver.url, ['retired']);
  await retire(2n, 'Ada');
  await expect.poll(() => receiver.delivered, EVENTUALLY).toHaveLength(1);
  const [delivery] = receiver.delivered;
  if (!delivery) throw new Error('Nothing was delivered');
  const { event } = JSON.parse(delivery.rawBody.toString('utf8')) as { event: IndexedEvent };
  const { sequence, closedAt } = devnet.controls.latest();
  expect(event).toMatchObject({
    contract: token,
    eventType: 'retired',
    ledger: sequence,
    timestamp: closedAt,
    data: { topics: [custody.publicKey()], value: ['2', 'Ada', 1, String(closedAt)] },
  });
  expect(readRetirementHints(delivery.rawBody)).toMatchObject([{ tokenAddress: token, recordIndex: 1 }]);
  const header = String(delivery.headers['x-ankara-signature']);
  expect(verifySignature({ rawBody: delivery.rawBody, header, secrets: [secret] })).toBe(true);
});

it('delivers on after a long silence', async () => {
  const { devnet } = testbed;
  await client.registerWebhook(receiver.url, ['retired']);
  const retired = () =>
    receiver.delivered.map(({ rawBody }) => {
      const { event } = JSON.parse(rawBody.toString('utf8')) as { event: IndexedEvent };
      return (event.data.value as unknown[])[1];
    });
  await retire(1n, 'first');
  await expect.poll(retired, EVENTUALLY).toEqual(['first']);
  // More ledgers than the node remembers, so it forgets the ledger of the cursor.
  devnet.controls.skipLedgers(20_000);
  await retire(1n, 'second');
  // A request that was under way when the node forgot is refused once.
  await expect.poll(retired, EVENTUALLY).toEqual(['first', 'second']);
});
