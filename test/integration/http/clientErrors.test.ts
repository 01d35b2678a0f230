import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, token, type AnswerBody, type TestServer } from '../../support/http/httpServer.ts';

const RESPONSE_JSON = 'application/graphql-response+json';

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});

afterAll(() => server.close(0));

const post: TestServer['post'] = (body, headers) => server.post(body, { accept: RESPONSE_JSON, ...headers });

async function ask(query: string, variables?: unknown): Promise<AnswerBody> {
  return (await (await post({ query, variables })).json()) as AnswerBody;
}

describe('what a client sees of an error', () => {
  it.each([
    ['a syntax error', '{ hello', {}, 'GRAPHQL_PARSE_FAILED'],
    ['an unknown field', '{ goodbye }', {}, 'GRAPHQL_VALIDATION_FAILED'],
    ['a missing variable', 'query ($n: Tonnes!) { tonnes(amount: $n) }', {}, 'BAD_USER_INPUT'],
    ['a wrong literal', '{ tonnes(amount: 1.5) }', {}, 'BAD_USER_INPUT'],
    ['a literal of the wrong type', '{ fail(how: 5) }', {}, 'GRAPHQL_VALIDATION_FAILED'],
    ['a variable without a use', 'query ($n: Int) { hello }', {}, 'GRAPHQL_VALIDATION_FAILED'],
    ['a variable that is not declared', '{ tonnes(amount: $n) }', {}, 'GRAPHQL_VALIDATION_FAILED'],
    [
      'a variable of another type',
      'query ($n: Int!) { tonnes(amount: $n) }',
      { n: 1 },
      'GRAPHQL_VALIDATION_FAILED',
    ],
  ])('%s', async (_what, query, variables, code) => {
    const response = await post({ query, variables });
    expect(response.status).toBe(400);
    const body = (await response.json()) as AnswerBody;
    expect(body.errors?.map((error) => error.extensions['code'])).toEqual([code]);
    expect('data' in body).toBe(false);
  });

  it.each([undefined, 'Other'])('a document of which operation %j is to run', async (operationName) => {
    const response = await post({ query: 'query A { hello } query B { hello }', operationName });
    expect(response.status).toBe(400);
    const body = (await response.json()) as AnswerBody;
    expect(body.errors).toMatchObject([
      { message: expect.stringContaining('operationName'), extensions: { code: 'BAD_REQUEST' } },
    ]);
  });

  it.each([0, -1, 1.5, 2 ** 63, '9223372036854775808', '1e3', ' 1', null, true, [], {}, 'x'.repeat(50_000)])(
    'the amount %j, as a variable, with the field that it stood in',
    async (amountCO2e) => {
      const { errors, data } = await ask('mutation ($input: RetireInput!) { retire(input: $input) }', {
        input: { buyerId: 'acme', buyerName: 'Acme', amountCO2e },
      });
      expect(data).toBeUndefined();
      expect(errors?.[0]?.extensions).toMatchObject({
        code: 'BAD_USER_INPUT',
        field: 'input.amountCO2e',
      });
      expect(errors?.[0]?.message.length).toBeLessThan(700);
      expect(errors?.[0]?.message).toContain('input.amountCO2e');
    },
  );

  it.each([
    [
      'a variable for the whole input',
      '($x: RetireInput!)',
      '$x',
      { x: { buyerId: 'acme', buyerName: 'Acme', amountCO2e: 0 } },
    ],
    [
      'a variable for the amount',
      '($x: Tonnes!)',
      '{ buyerId: "acme", buyerName: "Acme", amountCO2e: $x }',
      { x: 0 },
    ],
    [
      'no variable for the amount',
      '($x: Tonnes!)',
      '{ buyerId: "acme", buyerName: "Acme", amountCO2e: $x }',
      {},
    ],
    [
      'a variable without the amount',
      '($x: RetireInput!)',
      '$x',
      { x: { buyerId: 'acme', buyerName: 'Acme' } },
    ],
    ['a literal', '', '{ buyerId: "acme", buyerName: "Acme", amountCO2e: 0 }', {}],
    [
      'a literal beside a variable',
      '($y: String!)',
      '{ buyerId: $y, buyerName: "Acme", amountCO2e: "1.5" }',
      { y: 'acme' },
    ],
  ])('the same path of the input for %s', async (_what, declared, input, variables) => {
    const { errors } = await ask(`mutation ${declared} { a: retire(input: ${input}) }`, variables);
    const bad = errors?.filter(({ extensions }) => extensions['code'] === 'BAD_USER_INPUT');
    expect(bad).toMatchObject([{ extensions: { field: 'input.amountCO2e' } }]);
  });

  it('a member that the input does not have, by its path', async () => {
    const { errors } = await ask('mutation ($x: RetireInput!) { retire(input: $x) }', {
      x: { buyerId: 'acme', buyerName: 'Acme', amountCO2e: 1, amount: 1 },
    });
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'input.amount' });
  });

  it('broken text rules, with the field and the value', async () => {
    const authorization = `Bearer ${await token(['operator'])}`;
    const response = await post(
      {
        query: 'mutation ($input: RetireInput!) { retire(input: $input) }',
        variables: { input: { buyerId: 'acme', amountCO2e: 1, buyerName: 'Ac\u202eme' } },
      },
      { authorization },
    );
    const { errors } = (await response.json()) as AnswerBody;
    expect(errors?.[0]?.extensions).toEqual({
      code: 'BAD_USER_INPUT',
      field: 'input.buyerName',
    });
    expect(errors?.[0]?.message).toBe(
      'input.buyerName must not contain control, bidirectional, invisible or unassigned characters, but has U+202E; ' +
        String.raw`it is "Ac\u{202e}me".`,
    );
  });

  it('text that keeps the rules reaches the resolver normalised', async () => {
    const authorization = `Bearer ${await token(['operator'])}`;
    const input = { buyerId: 'acme', amountCO2e: '9007199254740993', buyerName: ' Cafe\u0301 ', note: '' };
    const response = await post(
      { query: 'mutation ($input: RetireInput!) { retire(input: $input) }', variables: { input } },
      { authorization },
    );
    expect(await response.json()).toMatchObject({ data: { retire: '9007199254740993 for Caf\u00e9: ' } });
  });

  it('whole amounts pass exactly, as literals of any size and as strings', async () => {
    expect(await ask('{ tonnes(amount: 9223372036854775807) }')).toMatchObject({
      data: { tonnes: '9223372036854775807' },
    });
    expect(await ask('query ($n: Tonnes!) { tonnes(amount: $n) }', { n: 7 })).toMatchObject({
      data: { tonnes: '7' },
    });
  });

  it('a domain error, with its details', async () => {
    const { errors } = await ask('{ fail(how: "domain") }');
    expect(errors?.[0]).toMatchObject({
      message: 'You own 1, not 5.',
      path: ['fail'],
      extensions: { code: 'INSUFFICIENT_BALANCE', available: '1', requested: '5' },
    });
  });

  it('the network refusing, and the network being away, without its address', async () => {
    const refused = await ask('{ fail(how: "refusal") }');
    expect(refused.errors?.[0]).toMatchObject({
      message: 'The token is paused.',
      extensions: { code: 'LEDGER_REFUSED', reason: 'PAUSED' },
    });
    const away = await ask('{ fail(how: "unavailable") }');
    expect(away.errors?.[0]?.extensions['code']).toBe('LEDGER_UNAVAILABLE');
    expect(JSON.stringify(away)).not.toContain('10.0.0.7');
  });

  it('of a defect nothing but the id that it is logged under', async () => {
    const response = await post({ query: '{ fail(how: "defect") }' }, { 'x-request-id': 'my-request' });
    const text = await response.text();
    const requestId = response.headers.get('x-request-id');
    expect(requestId).not.toBe('my-request');
    expect(text).not.toContain('hunter2');
    expect((JSON.parse(text) as AnswerBody).errors?.[0]?.extensions).toEqual({
      code: 'INTERNAL_SERVER_ERROR',
      requestId,
    });
    const logged = server.log.filter((line) => line.fields['requestId'] === requestId);
    expect(logged).toHaveLength(1);
    expect(String(logged[0]?.fields['err'])).toContain('hunter2');
  });
});
