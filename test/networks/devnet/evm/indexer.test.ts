/**
 * The indexer double on a real node: the documented interface, signed deliveries in the deployed format, and
 * a reorganisation that it notices.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createIndexerClient } from '../../../../src/indexer/client.ts';
import type { IndexedEvent } from '../../../../src/indexer/client.ts';
import { verifySignature } from '../../../../src/lib/signature.ts';
import { startWebhookReceiver } from '../../../support/http/webhookReceiver.ts';
import type { Delivered, WebhookReceiver } from '../../../support/http/webhookReceiver.ts';
import { createActors, mintedCarbon, TONNE } from '../../../support/evm/actors.ts';
import type { Actors } from '../../../support/evm/actors.ts';
import { startAnvil } from '../../../../devnet/evm/anvil.ts';
import type { Anvil } from '../../../../devnet/evm/anvil.ts';
import { startEvmIndexer } from '../../../../devnet/evm/indexer.ts';

const EVENTUALLY = { interval: 20 };

let node: Anvil | null = null;
let actors: Actors;
const toClose: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  node = await startAnvil();
  actors = await createActors(node);
});
afterAll(() => node?.stop());
afterEach(async () => {
  for (const close of toClose.splice(0).toReversed()) await close();
});

async function watch(events = ['*']) {
  const indexer = await startEvmIndexer(actors.node);
  toClose.push(() => indexer.stop());
  const client = createIndexerClient({ url: indexer.url, fetch, timeoutMs: 5_000 });
  const receiver = await startWebhookReceiver();
  toClose.push(() => receiver.close());
  const { secret } = await client.registerWebhook(receiver.url, events);
  return { receiver, secret };
}

async function retire(token: Awaited<ReturnType<typeof mintedCarbon>>, amount: bigint, beneficiary: string) {
  const args = [amount, beneficiary, 'note'];
  return actors.send(actors.custody, { ...token, functionName: 'retire', args });
}

function eventOf({ rawBody }: Delivered): IndexedEvent {
  return (JSON.parse(rawBody.toString('utf8')) as { event: IndexedEvent }).event;
}

function retirementsIn(receiver: WebhookReceiver): IndexedEvent[] {
  return receiver.delivered.map(eventOf).filter(({ eventType }) => eventType === 'retired');
}

describe('the indexer double', () => {
  it('delivers a retirement once, signed, positional, with the record’s index', async () => {
    const token = await mintedCarbon(actors, 5n);
    const { receiver, secret } = await watch();
    const receipt = await retire(token, 2n * TONNE, 'Ada');
    await expect.poll(() => retirementsIn(receiver), EVENTUALLY).toHaveLength(1);
    const { timestamp } = await actors.client.getBlock({ blockNumber: receipt.blockNumber });
    expect(retirementsIn(receiver)).toEqual([
      {
        id: expect.stringContaining(receipt.transactionHash) as string,
        contract: token.address.toLowerCase(),
        eventType: 'retired',
        ledger: Number(receipt.blockNumber),
        txHash: receipt.transactionHash,
        timestamp: Number(timestamp),
        data: { topics: [actors.custody.address], value: [String(2n * TONNE), 'Ada', 0, String(timestamp)] },
      },
    ]);
    for (const { rawBody, headers } of receiver.delivered) {
      const header = String(headers['x-ankara-signature']);
      expect(verifySignature({ rawBody, header, secrets: [secret] })).toBe(true);
      expect(verifySignature({ rawBody, header, secrets: ['another secret'] })).toBe(false);
    }
    // Events before the registration are not delivered.
    expect(
      receiver.delivered.map(eventOf).every(({ ledger }) => ledger === Number(receipt.blockNumber)),
    ).toBe(true);
  });

  it('delivers what a reorganisation brought', async () => {
    const token = await mintedCarbon(actors, 5n);
    const { receiver } = await watch(['retired']);
    await retire(token, TONNE, 'undone');
    await expect.poll(() => retirementsIn(receiver), EVENTUALLY).toHaveLength(1);
    await actors.node.rpc('anvil_reorg', [1, []]);
    await retire(token, TONNE, 'stays');
    await expect.poll(() => retirementsIn(receiver), EVENTUALLY).toHaveLength(2);
    const records = retirementsIn(receiver).map(({ data }) => (data.value as unknown[]).slice(1, 3));
    expect(records).toEqual([
      ['undone', 0],
      ['stays', 0],
    ]);
  });
});
