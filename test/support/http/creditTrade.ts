/**
 * Requests for tests of credits: projects, purchases, transfers and retirements, each with its own
 * idempotency key.
 */
import { randomUUID } from 'node:crypto';
import type { Answer, Marketplace, TestCaller } from './marketplace.ts';

export const developer = { role: 'developer', subject: 'dev' } as const;
export const operator = { role: 'operator', subject: 'ops' } as const;
export const buyer = (subject: string) => ({ role: 'buyer', subject }) as const;

/** Sends one mutation with `input`; its payload is under the mutation's name. */
export function mutate<Payload>(
  market: Marketplace,
  [field, type, selection]: readonly [field: string, type: string, selection: string],
  input: Record<string, unknown>,
  caller: TestCaller | null,
): Promise<Answer<Record<string, Payload>>> {
  return market.send(
    `mutation ($input: ${type}!) { ${field}(input: $input) { ${selection} } }`,
    { input: { idempotencyKey: randomUUID(), ...input } },
    caller,
  );
}

/** Returns the payload of an answer without errors. */
export function payloadOf<Payload>({ data, errors }: Answer<Record<string, Payload>>): Payload {
  if (errors.length > 0) throw new Error(JSON.stringify(errors));
  const [payload] = Object.values(data ?? {});
  if (payload === undefined) throw new Error('the answer has no payload');
  return payload;
}

export function projectInput(overrides: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    creditType: 'VCU',
    verificationBodyRef: `VCS-${randomUUID()}`,
    vintageYear: 2024,
    quantityCO2e: 1000,
    projectLocation: 'Kasigau Corridor',
    projectType: 'REDD+',
    countryCode: 'KE',
    ...overrides,
  };
}

/** Creates a project. @returns the address of its token */
export async function newToken(
  market: Marketplace,
  overrides: Record<string, unknown> = {},
): Promise<string> {
  const answer = await mutate<{ tokenAddress: string }>(
    market,
    ['createProject', 'CreateProjectInput', 'tokenAddress'],
    projectInput(overrides),
    developer,
  );
  return payloadOf(answer).tokenAddress;
}

export async function buy(
  market: Marketplace,
  buyerId: string,
  tokenAddress: string,
  amountCO2e: number,
): Promise<string> {
  const answer = await mutate<{ purchase: { id: string } }>(
    market,
    ['purchase', 'PurchaseInput', 'purchase { id }'],
    { buyerId, tokenAddress, amountCO2e },
    buyer(buyerId),
  );
  return payloadOf(answer).purchase.id;
}

/** Returns the whole tonnes that a buyer holds of a token, as the account shows them. */
export async function balanceOf(market: Marketplace, buyerId: string, tokenAddress: string): Promise<string> {
  type Balances = {
    buyerAccount: { balances: { edges: { node: { tokenAddress: string; tonnes: string } }[] } };
  };
  const { data, errors } = await market.send<Balances>(
    `query ($id: String!) { buyerAccount(buyerId: $id) { balances(first: 100) { edges { node { tokenAddress tonnes } } } } }`,
    { id: buyerId },
    operator,
  );
  if (errors.length > 0) throw new Error(JSON.stringify(errors));
  const found = data?.buyerAccount.balances.edges.find(({ node }) => node.tokenAddress === tokenAddress);
  return found?.node.tonnes ?? '0';
}
