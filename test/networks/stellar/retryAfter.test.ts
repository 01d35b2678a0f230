/**
 * An overloaded Stellar node says how long to wait: it is not asked before that.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { Keypair, Networks } from '@stellar/stellar-sdk';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { listenLocally } from '../../../devnet/listenLocally.ts';
import { NetworkUnavailable, type LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { createStellarNetwork } from '../../../src/ledger/network/stellar/network.ts';

let asked: number;
let nowMs: number;
let answer: { status: number; retryAfter: string | null };
let network: LedgerNetwork;
let close: () => Promise<void>;
async function reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
  asked += 1;
  const { id } = (await json(request)) as { id: number };
  const header = answer.retryAfter === null ? {} : { 'retry-after': answer.retryAfter };
  response.writeHead(answer.status, { 'content-type': 'application/json', ...header });
  const result = {
    status: 'NOT_FOUND',
    latestLedger: 7,
    latestLedgerCloseTime: '1',
    oldestLedger: 1,
  };
  response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
}
const server = createServer((request, response) => void reply(request, response));

beforeEach(async () => {
  asked = 0;
  nowMs = 1_800_000_000_000;
  const served = await listenLocally(server);
  close = served.close;
  network = await createStellarNetwork({
    name: 'overrun',
    rpcUrl: served.url,
    passphrase: Networks.TESTNET,
    secretKey: Keypair.random().secret(),
    channelSecretKeys: [],
    factoryAddress: 'CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC',
    settlementFactoryAddress: undefined,
    settlementAddress: undefined,
    maxInclusionFeeStroops: 100,
    requestTimeoutMs: 5_000,
    nowMs: () => nowMs,
  });
});
afterEach(() => close());

for (const [status, retryAfter, seconds] of [
  [429, '20', 20],
  [503, new Date(1_800_000_000_000 + 30_000).toUTCString(), 30],
  [429, '86400', 60],
] as const) {
  it(`is left alone for ${seconds} s after ${status} with Retry-After: ${retryAfter}`, async () => {
    answer = { status, retryAfter };
    await expect(network.status()).rejects.toThrow(NetworkUnavailable);
    answer = { status: 200, retryAfter: null };
    nowMs += seconds * 1_000 - 1;
    await expect(network.status()).rejects.toThrow('it asked to be left alone for 1 s more');
    expect(asked).toBe(1);
    nowMs += 1;
    expect(await network.status()).toMatchObject({ ledger: 7n });
    expect(asked).toBe(2);
  });
}

it('is asked again at once when it names no time', async () => {
  answer = { status: 429, retryAfter: null };
  await expect(network.status()).rejects.toThrow(NetworkUnavailable);
  answer = { status: 200, retryAfter: null };
  expect(await network.status()).toMatchObject({ ledger: 7n });
});
