/**
 * A node of another network is asked nothing: neither at the start, nor when its address leads elsewhere
 * later. The nodes here answer only the deciding question, in both families' wire form.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { askOnlyOwnNode, WrongNetwork } from '../../../src/ledger/network/nodeIdentity.ts';
import { evmIdentityCheck } from '../../../src/ledger/network/evm/identity.ts';
import { stellarIdentityCheck } from '../../../src/ledger/network/stellar/identity.ts';
import { NetworkUnavailable, type LedgerNetwork } from '../../../src/ledger/network/port.ts';
import { listenLocally } from '../../../devnet/listenLocally.ts';
import { embeddedNetworkOn } from '../../support/platform.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';

const TIMEOUT_MS = 5_000;
const FACTORY = `0x${'f'.repeat(40)}`;

/** Searches begin at block 0, so that every factory is found. */
const evmIdentityOf = (node: { rpcUrl: string }, chainId: number) =>
  evmIdentityCheck({
    rpcUrl: node.rpcUrl,
    requestTimeoutMs: TIMEOUT_MS,
    chainId,
    factoryAddress: FACTORY,
    firstBlock: 0n,
  });

const toClose: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of toClose.splice(0)) await close();
});

/**
 * A node that answers every question with `answer` (a JSON-RPC result) or `body`, and asks for a pause while
 * busy.
 */
async function startNode(answer: unknown, body?: string) {
  const node = { answer, questions: [] as string[], rpcUrl: '', isBusy: false };
  async function reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { id, method } = (await json(request)) as { id: number; method: string };
    node.questions.push(method);
    if (node.isBusy) response.writeHead(429, { 'retry-after': '60' });
    response.end(body ?? JSON.stringify({ jsonrpc: '2.0', id, result: node.answer }));
  }
  const server = createServer((request, response) => void reply(request, response));
  const { url, close } = await listenLocally(server);
  toClose.push(close);
  node.rpcUrl = `${url}/v2/hunter2`;
  return node;
}

describe('a node', () => {
  it('of Stellar answers with its passphrase', async () => {
    const node = await startNode({ passphrase: 'Mine', protocolVersion: 23 });
    const options = { rpcUrl: node.rpcUrl, requestTimeoutMs: TIMEOUT_MS };
    await stellarIdentityCheck({ ...options, passphrase: 'Mine' })();
    const other = stellarIdentityCheck({ ...options, passphrase: 'Yours' })();
    await expect(other).rejects.toThrow(WrongNetwork);
    await expect(other).rejects.toThrow(/"Mine"[^]*"Yours"/);
    expect(node.questions).toEqual(['getNetwork', 'getNetwork']);
  });

  it.each([22, undefined])(
    'of Stellar with the protocol %s is refused: 23 is the oldest',
    async (protocolVersion) => {
      const node = await startNode({ passphrase: 'Mine', protocolVersion });
      const options = { rpcUrl: node.rpcUrl, requestTimeoutMs: TIMEOUT_MS, passphrase: 'Mine' };
      const check = stellarIdentityCheck(options)();
      await expect(check).rejects.toThrow(WrongNetwork);
      await expect(check).rejects.toThrow(
        `The network of the node at ${new URL(node.rpcUrl).host} has protocol ${protocolVersion}, but this platform needs ` +
          'protocol 23 or later. Upgrade the network, or correct LEDGER_RPC_URL.',
      );
    },
  );

  it('of an EVM chain answers with its id', async () => {
    const node = await startNode('0x7a69');
    await evmIdentityOf(node, 31_337)();
    const other = evmIdentityOf(node, 1)();
    await expect(other).rejects.toThrow(WrongNetwork);
    await expect(other).rejects.toThrow(/chain 31337[^]*LEDGER_CHAIN_ID is 1/);
    expect(node.questions).toEqual(['eth_chainId', 'eth_chainId']);
  });

  it.each([
    ['a list', []],
    ['nothing', null],
    ['a word', 'mainnet'],
  ])('that answers with %s belongs to no network', async (_what, answer) => {
    const node = await startNode(answer);
    const options = { rpcUrl: node.rpcUrl, requestTimeoutMs: TIMEOUT_MS };
    await expect(evmIdentityOf(node, 1)()).rejects.toThrow(WrongNetwork);
    await expect(stellarIdentityCheck({ ...options, passphrase: 'x' })()).rejects.toThrow(WrongNetwork);
  });

  it.each(['', '{}', '[]', '{"jsonrpc":"2.0","id":1}', '<html>down</html>'])(
    'whose answer is %j, without a result, is unavailable',
    async (body) => {
      const node = await startNode(undefined, body);
      const options = { rpcUrl: node.rpcUrl, requestTimeoutMs: TIMEOUT_MS };
      await expect(evmIdentityOf(node, 1)()).rejects.toThrow(NetworkUnavailable);
      await expect(stellarIdentityCheck({ ...options, passphrase: 'x' })()).rejects.toThrow(
        NetworkUnavailable,
      );
    },
  );

  it('that is away is unavailable, and the key in its address is not repeated', async () => {
    const rpcUrl = 'http://127.0.0.1:9/v2/hunter2';
    const away = evmIdentityOf({ rpcUrl }, 1)();
    await expect(away).rejects.toThrow(NetworkUnavailable);
    await expect(away).rejects.toThrow('127.0.0.1:9');
    await expect(away).rejects.not.toThrow('hunter2');
  });
});

describe('a node that asks to be left alone', () => {
  it.each([
    ['an EVM chain', (rpcUrl: string) => evmIdentityOf({ rpcUrl }, 5)],
    [
      'Stellar',
      (rpcUrl: string) => stellarIdentityCheck({ rpcUrl, requestTimeoutMs: TIMEOUT_MS, passphrase: 'Mine' }),
    ],
  ])('of %s is asked for its network once until that is over', async (_family, checkOf) => {
    const node = await startNode(undefined);
    node.isBusy = true;
    const check = checkOf(node.rpcUrl);
    await expect(check()).rejects.toThrow(NetworkUnavailable);
    for (let again = 0; again < 2; again++) {
      await expect(check()).rejects.toThrow(/asked to be left alone for \d+ s more/);
    }
    expect(node.questions).toHaveLength(1);
  });
});

describe('a network whose node is looked at', () => {
  let database: TestDatabase;
  let own: LedgerNetwork;
  let nowMs: number;

  beforeEach(async () => {
    database = await createTestDatabase();
    own = await embeddedNetworkOn(database.handle);
    nowMs = 0;
  });
  afterEach(() => database.drop());

  const guardedBy = (node: { rpcUrl: string }) => {
    return askOnlyOwnNode(own, evmIdentityOf(node, 5), () => nowMs);
  };

  it('answers once its node belongs to it, with one question for all who wait', async () => {
    const node = await startNode('0x5');
    const network = guardedBy(node);
    expect(network.custodyAddress).toBe(own.custodyAddress);
    expect(network.normalizeAddress(own.custodyAddress)).toBe(own.custodyAddress);
    expect(node.questions).toHaveLength(0);
    const settlement = await own.settlementContract();
    await expect(Promise.all([network.status(), network.settlementContract()])).resolves.toMatchObject([
      { ledger: expect.anything() },
      settlement,
    ]);
    expect(node.questions).toHaveLength(1);
  });

  it('is unavailable while its node is of another network, and comes back with it', async () => {
    const node = await startNode('0x1');
    const network = guardedBy(node);
    await expect(network.status()).rejects.toThrow(NetworkUnavailable);
    await expect(network.broadcast(new Uint8Array())).rejects.toThrow('LEDGER_CHAIN_ID');
    node.answer = '0x5';
    await expect(network.status()).resolves.toBeDefined();
  });

  it('notices within a minute that the address leads elsewhere', async () => {
    const node = await startNode('0x5');
    const network = guardedBy(node);
    await network.status();
    node.answer = '0x1';
    nowMs = 59_999;
    await expect(network.status()).resolves.toBeDefined();
    nowMs = 60_000;
    await expect(network.status()).rejects.toThrow(NetworkUnavailable);
  });
});
