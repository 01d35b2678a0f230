/**
 * A failed field of a request does not affect its neighbours.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addressOfSecretKey, generateSecretKey } from '../../../src/lib/strkey.ts';
import { callers, startCarbonExample, type CarbonExample } from '../../support/http/carbonExample.ts';

let example: CarbonExample;
const unknownToken = addressOfSecretKey(generateSecretKey((size) => new Uint8Array(size).fill(7)));
const unknownId = (type: string) => Buffer.from(`${type}:${randomUUID()}`).toString('base64url');

beforeAll(async () => {
  example = await startCarbonExample();
});

afterAll(() => example.market.stop());

describe('a request', () => {
  it('that books a purchase says so although the next one fails', async () => {
    const { market, tokens } = example;
    const input = (amountCO2e: number) => ({
      buyerId: 'acme',
      tokenAddress: tokens[2],
      amountCO2e,
      idempotencyKey: randomUUID(),
    });
    const { data, errors } = await market.send(
      `mutation ($a: PurchaseInput!, $b: PurchaseInput!, $c: PurchaseInput!) {
        one: purchase(input: $a) { purchase { tonnes } }
        two: purchase(input: $b) { purchase { tonnes } }
        three: purchase(input: $c) { purchase { tonnes } } }`,
      { a: input(5), b: input(1_000_000), c: input(6) },
      callers.acme,
    );
    expect(data).toEqual({
      one: { purchase: { tonnes: '5' } },
      two: null,
      three: { purchase: { tonnes: '6' } },
    });
    expect(errors).toMatchObject([{ path: ['two'], extensions: { code: 'INSUFFICIENT_SUPPLY' } }]);
  });

  it('that looks up an unknown token among known ones gets null for it, and no error', async () => {
    const { market, tokens } = example;
    const { data, errors } = await market.send(
      `query ($known: Address!, $unknown: Address!) {
        registry(tokenAddress: $known) { totalRetirements }
        noRegistry: registry(tokenAddress: $unknown) { totalRetirements }
        project(tokenAddress: $known) { vintageYear }
        noProject: project(tokenAddress: $unknown) { vintageYear }
        notEvenAnAddress: project(tokenAddress: "nowhere") { vintageYear } }`,
      { known: tokens[0], unknown: unknownToken },
    );
    expect(errors).toEqual([]);
    expect(data).toEqual({
      registry: { totalRetirements: 1 },
      noRegistry: null,
      project: { vintageYear: 2020 },
      noProject: null,
      notEvenAnAddress: null,
    });
  });

  it('that looks up what does not exist gets null for each of it', async () => {
    const { data, errors } = await example.market.send(
      `query ($token: Address!) {
        receipt(tokenAddress: $token) { state }
        reconciliation(tokenAddress: $token) { agrees }
        retirement(id: "${unknownId('Retirement')}") { state }
        offRampSession(id: "${unknownId('OffRampSession')}") { state }
        submission(id: "${unknownId('Submission')}") { state }
        node(id: "${unknownId('Purchase')}") { id } }`,
      { token: unknownToken },
      callers.operator,
    );
    expect(errors).toEqual([]);
    expect(data).toEqual({
      receipt: null,
      reconciliation: null,
      retirement: null,
      offRampSession: null,
      submission: null,
      node: null,
    });
  });

  it("that looks up another buyer's retirement learns nothing of it", async () => {
    const { market, retirementId } = example;
    const query = 'query ($id: ID!) { retirement(id: $id) { state } }';
    expect(await market.send(query, { id: retirementId }, callers.globex)).toMatchObject({
      data: { retirement: null },
      errors: [],
    });
    expect(await market.send(query, { id: retirementId }, callers.acme)).toMatchObject({
      data: { retirement: { state: 'RETIRED' } },
    });
  });

  it('whose one root field is forbidden keeps the other', async () => {
    const { data, errors } = await example.market.send(
      '{ auditEntries { totalCount } projects { totalCount } }',
      {},
      callers.acme,
    );
    expect(data).toEqual({ auditEntries: null, projects: { totalCount: 3 } });
    expect(errors).toMatchObject([{ path: ['auditEntries'], extensions: { code: 'FORBIDDEN' } }]);
  });
});
