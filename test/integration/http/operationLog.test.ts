/**
 * The log's line for each operation: exactly one, with caller, operation, duration and outcome, and without
 * confidential values.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askOver, TRANSPORTS } from '../../support/http/askOver.ts';
import {
  startServer,
  token,
  until,
  type LoggedLine,
  type TestServer,
} from '../../support/http/httpServer.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close(0));

/** The lines of an operation, found by its unique name. */
async function linesOf(name: string): Promise<LoggedLine[]> {
  const found = () => server.operations.filter(({ fields }) => fields['operation'] === name);
  await until(() => found().length > 0);
  // By the end of this request a second line would be there.
  await askOver('http', `${server.url}/graphql`, { query: '{ hello }' });
  return found();
}

const RETIRE = (name: string) => `mutation ${name}($input: RetireInput!) {
  retire(input: $input) hidden: retire(input: { buyerId: "acme", amountCO2e: 918273645, buyerName: "Jane Literal" }) @skip(if: true)
  __typename @include(if: true)
}`;

it('an operation takes as long as it does, also when the clock is set back meanwhile', async () => {
  let looks = 0;
  const durations: number[] = [];
  const back = await startServer({
    clock: { now: () => new Date(Date.now() - 3_600_000 * looks++) },
    observeOperation: ({ durationMs }) => void durations.push(durationMs),
  });
  try {
    for (const transport of TRANSPORTS) {
      await askOver(transport, `${back.url}/graphql`, { query: '{ hello }' });
    }
    await until(() => durations.length === TRANSPORTS.length);
    for (const durationMs of durations) expect(durationMs).toBeGreaterThanOrEqual(0);
  } finally {
    await back.close(0);
  }
});

describe.each(TRANSPORTS)('over %s', (transport) => {
  const ask = (question: Parameters<typeof askOver>[2]) =>
    askOver(transport, `${server.url}/graphql`, question);

  it('an operation leaves one line, without secrets and names', async () => {
    const bearer = await token(['buyer']);
    const name = `Retire_${transport}`;
    const input = { buyerId: 'acme', amountCO2e: 5, buyerName: 'Jane Doe', note: 'from Jane' };
    await ask({ query: RETIRE(name), variables: { input }, bearer });
    const lines = await linesOf(name);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toEqual({
      message: 'operation',
      fields: {
        operation: name,
        type: 'mutation',
        fields: ['retire', '__typename'],
        query: expect.stringContaining('retire(input: $input)') as string,
        variables: {
          input: { buyerId: 'acme', amountCO2e: 5, buyerName: '[text of 8]', note: '[text of 9]' },
        },
        outcome: 'OK',
        caller: 'acme',
        cost: 3,
        durationMs: expect.any(Number) as number,
        requestId: expect.any(String) as string,
        transport: transport === 'websocket' ? 'websocket' : 'http',
        remoteAddress: expect.stringContaining('127.0.0.1') as string,
      },
    });
    const text = JSON.stringify(lines);
    for (const secret of [bearer, 'Jane', '918273645']) expect(text).not.toContain(secret);
  });

  it.each([
    ['fails', 'query Failing { fail(how: "domain") }', 'INSUFFICIENT_BALANCE'],
    ['is not allowed', 'query Forbidden { operators }', 'UNAUTHENTICATED'],
  ])('one that %s leaves its code', async (_what, query, outcome) => {
    const name = `${/ (\w+)/.exec(query)?.[1]}_${transport}`;
    await ask({ query: query.replace(/ (\w+)/, ` ${name}`) });
    expect(await linesOf(name)).toMatchObject([{ fields: { outcome, caller: null } }]);
  });

  it('one that another service leaves without an answer says why, and its client does not see that', async () => {
    const name = `Unavailable_${transport}`;
    const answer = await ask({ query: `query ${name} { fail(how: "unavailable") }` });
    const message = 'connect ECONNREFUSED 10.0.0.7:8000';
    expect(await linesOf(name)).toMatchObject([
      { fields: { outcome: 'LEDGER_UNAVAILABLE', err: { message } } },
    ]);
    expect(JSON.stringify(answer)).not.toContain('10.0.0.7');
  });

  it.each([
    ['that can not be read', '{ hello', 'GRAPHQL_PARSE_FAILED'],
    ['that does not fit', '{ goodbye }', 'GRAPHQL_VALIDATION_FAILED'],
  ])('one %s leaves a line too', async (_what, query, outcome) => {
    const before = server.operations.length;
    await ask({ query });
    await until(() => server.operations.length > before);
    expect(server.operations.slice(before)).toMatchObject([{ fields: { outcome, caller: null } }]);
  });
});

describe('a bad credential', () => {
  // A websocket is closed before it has an operation.
  it.each(['http', 'sse'] as const)('over %s leaves a line without it', async (transport) => {
    const before = server.operations.length;
    await askOver(transport, `${server.url}/graphql`, { query: '{ hello }', bearer: 'a-bad-credential' });
    const lines = server.operations.slice(before);
    expect(lines).toMatchObject([{ fields: { outcome: 'UNAUTHENTICATED' } }]);
    expect(JSON.stringify(lines)).not.toContain('a-bad-credential');
  });
});

describe('a subscription', () => {
  it.each(['sse', 'websocket'] as const)('over %s leaves its line when it is over', async (transport) => {
    const name = `Ticks_${transport}`;
    const query = `subscription ${name} { ticks(count: 3) }`;
    await askOver(transport, `${server.url}/graphql`, { query });
    const [line] = await linesOf(name);
    expect(line?.fields).toMatchObject({ type: 'subscription', outcome: 'OK', fields: ['ticks'] });
    expect(Number(line?.fields['events'])).toBeGreaterThan(0);
  });
});
