/**
 * Live updates instead of polling: rows as they change, over both transports, on another instance than the
 * one that was asked to change them.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase, type DatabaseHandle } from '../../../src/db/connection.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { withFaults } from '../../support/faults/faultyNetwork.ts';
import { makeBelongings, type Belongings } from '../../support/http/accessTable.ts';
import { askOver } from '../../support/http/askOver.ts';
import {
  startMarketplace,
  tokenOf,
  type Marketplace,
  type MarketplaceOptions,
  type TestCaller,
} from '../../support/http/marketplace.ts';

const acme = { role: 'buyer', subject: 'acme' } as const;
const farmer = { role: 'farmer', subject: 'acme' } as const;
const globex = { role: 'buyer', subject: 'globex' } as const;
const admin = { role: 'admin', subject: 'root' } as const;

/** While true, nothing is signed, so requested work keeps its first state. */
let isHeld = false;
const wrapNetwork: MarketplaceOptions['wrapNetwork'] = (network) =>
  withFaults(network, (method) => (isHeld && method === 'draft' ? 'unreachable' : null));

let asked: Marketplace;
let watched: Marketplace;
let watchedHandle: DatabaseHandle;
let own: Belongings;

beforeAll(async () => {
  asked = await startMarketplace({ wrapNetwork });
  own = await makeBelongings(asked);
  watchedHandle = openDatabase({ url: asked.database.url, poolSize: 10, applicationName: 'watched' });
  const database = { ...asked.database, handle: watchedHandle };
  watched = await startMarketplace({ wrapNetwork, database, withIndexer: false });
}, 120_000);
afterEach(() => {
  isHeld = false;
});
afterAll(async () => {
  await watched.stop();
  await watchedHandle.close();
  await asked.stop();
});

type Result = {
  data?: Record<string, { state: string }> | null;
  errors?: { extensions: { code: string } }[];
};

function overSocket(market: Marketplace, query: string, id: string, caller?: TestCaller) {
  return market.socket(caller).iterate({ query, variables: { id } }) as AsyncIterableIterator<Result>;
}

async function* overSse(market: Marketplace, query: string, id: string, bearer: string | null) {
  const response = await fetch(market.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
    },
    body: JSON.stringify({ query, variables: { id } }),
  });
  let text = '';
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString();
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const data = /^event: next\ndata: (.*)$/m.exec(text.slice(0, end))?.[1];
      text = text.slice(end + 2);
      if (data !== undefined) yield JSON.parse(data) as Result;
    }
  }
}

/** The states until the stream ends; `onFirst` runs after the first one. */
async function statesOf(stream: AsyncIterable<Result>, onFirst = () => {}): Promise<(string | undefined)[]> {
  const states: (string | undefined)[] = [];
  for await (const { data, errors } of stream) {
    states.push(errors ? errors[0]?.extensions.code : Object.values(data ?? {})[0]?.state);
    if (states.length === 1) onFirst();
  }
  return states;
}

const RETIREMENT = 'subscription ($id: ID!) { retirementUpdated(id: $id) { state } }';
const PROJECT = 'subscription ($id: ID!) { projectUpdated(id: $id) { state } }';
const RECEIPT = 'subscription ($id: ID!) { receiptUpdated(id: $id) { state } }';
const SESSION = 'subscription ($id: ID!) { offRampSessionUpdated(id: $id) { state } }';

const HALF_A_YEAR_SECONDS = 183 * 86_400;

/** Makes a retirement that stays PENDING while `isHeld` is true. */
async function retire(): Promise<string> {
  isHeld = true;
  const input = {
    buyerId: 'acme',
    buyerName: 'Acme',
    tokenAddress: own.tokenAddress,
    amountCO2e: 1,
    idempotencyKey: randomUUID(),
  };
  const answering = asked.send(
    'mutation ($input: RetireInput!) { retire(input: $input) { txHash } }',
    { input },
    acme,
  );
  for (;;) {
    const { data } = await asked.send<{ retirements: { edges: { node: { id: string } }[] } }>(
      '{ retirements(first: 1, filter: { states: [PENDING] }) { edges { node { id } } } }',
      {},
      acme,
    );
    const id = data?.retirements.edges[0]?.node.id;
    if (id === undefined) continue;
    void answering;
    return id;
  }
}

const release = () => {
  isHeld = false;
};

describe('a subscription to one object', () => {
  it('sends a retirement from PENDING to its end, over both transports', async () => {
    const id = await retire();
    const told = await Promise.all([
      statesOf(overSocket(watched, RETIREMENT, id, acme), release),
      statesOf(overSse(watched, RETIREMENT, id, await tokenOf(acme)), release),
      statesOf(overSocket(asked, RETIREMENT, id, { role: 'operator', subject: 'ops' }), release),
    ]);
    expect(told).toEqual(Array.from({ length: 3 }, () => ['PENDING', 'RETIRED']));
  });

  it('sends what is final once, and ends', async () => {
    expect(await statesOf(overSocket(watched, RETIREMENT, own.retirementId, acme))).toEqual(['RETIRED']);
    expect(await statesOf(overSse(watched, PROJECT, own.projectId, null))).toEqual(['OPEN']);
  });

  it('sends each state of an off-ramp session', async () => {
    const settle = () =>
      asked.send(
        `mutation ($input: SetManualSessionStatusInput!) { setManualSessionStatus(input: $input) { __typename } }`,
        { input: { sessionId: own.providerSessionId, status: 'SETTLED' } },
        admin,
      );
    const states = await statesOf(
      overSocket(watched, SESSION, own.offRampSessionId, farmer),
      () => void settle(),
    );
    expect([states[0], states.at(-1)]).toEqual(['AWAITING_PAYOUT', 'SETTLED']);
  });

  it('sends a receipt that has expired', async () => {
    const stream = overSocket(watched, RECEIPT, own.receiptId, farmer);
    const states = await statesOf(stream, () => {
      void (async () => {
        await asked.network.advanceClock(HALF_A_YEAR_SECONDS);
        await asked.send('mutation { expireReceipts { __typename } }', {}, admin);
      })();
    });
    expect(states).toEqual(['ACTIVE', 'EXPIRED']);
  });

  it.each([
    ["another buyer's retirement", RETIREMENT, () => own.retirementId, globex, 'NOT_FOUND'],
    ['a retirement without a token', RETIREMENT, () => own.retirementId, null, 'UNAUTHENTICATED'],
    ["another farmer's receipt", RECEIPT, () => own.receiptId, { ...farmer, subject: 'other' }, 'NOT_FOUND'],
    [
      "another farmer's session",
      SESSION,
      () => own.offRampSessionId,
      { ...farmer, subject: 'other' },
      'NOT_FOUND',
    ],
    [
      'a project that is not there',
      PROJECT,
      () => Buffer.from(`Project:${randomUUID()}`).toString('base64url'),
      null,
      'NOT_FOUND',
    ],
  ] as const)('refuses %s', async (_what, query, id, caller, code) => {
    const bearer = caller === null ? null : await tokenOf(caller);
    expect(await statesOf(overSse(watched, query, id(), bearer))).toEqual([code]);
  });

  it('says which argument names what is not there', async () => {
    const variables = { id: Buffer.from(`Project:${randomUUID()}`).toString('base64url') };
    const { errors } = await askOver('sse', watched.url, { query: PROJECT, variables });
    expect(errors).toMatchObject([{ extensions: { code: 'NOT_FOUND', field: 'id' } }]);
  });

  it('ends with the token that opened it', async () => {
    const id = await retire();
    const ahead = await startMarketplace({
      database: asked.database,
      withIndexer: false,
      wrapNetwork,
      clock: { now: () => new Date(systemClock.now().getTime() + 299_000) },
    });
    const bearer = await tokenOf(acme, { expiresInSeconds: 300 });
    expect(await statesOf(overSse(ahead, RETIREMENT, id, bearer))).toEqual(['PENDING']);
    await ahead.stop();
  });
});
