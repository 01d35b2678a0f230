/**
 * A marketplace with example data: three projects, a purchase and a retirement by acme.
 */
import { buy, mutate, newToken, payloadOf } from './creditTrade.ts';
import { startMarketplace } from './marketplace.ts';
import type { Marketplace, TestCaller } from './marketplace.ts';

export interface Page<Node> {
  edges: { cursor: string; node: Node }[];
  pageInfo: {
    hasNextPage: boolean;
    hasPreviousPage: boolean;
    endCursor: string | null;
    startCursor: string | null;
  };
}

export const callers = {
  developer: { role: 'developer', subject: 'dev' },
  operator: { role: 'operator', subject: 'ops' },
  acme: { role: 'buyer', subject: 'acme' },
  globex: { role: 'buyer', subject: 'globex' },
} as const satisfies Record<string, TestCaller>;

export interface CarbonExample {
  market: Marketplace;
  /** Token addresses of vintages 2020 (1000 t, BR), 2021 (1000 t, KE) and 2022 (100 t, KE), in this order. */
  tokens: string[];
  /** A purchase of 100 tonnes of the first token. */
  purchaseId: string;
  /** A retirement of 30 of those tonnes. */
  retirementId: string;
}

export async function startCarbonExample(): Promise<CarbonExample> {
  const market = await startMarketplace();
  const tokens: string[] = [];
  for (const vintageYear of [2020, 2021, 2022]) tokens.push(await createToken(market, vintageYear));
  const [tokenAddress = ''] = tokens;
  const purchaseId = await buy(market, 'acme', tokenAddress, 100);
  const retired = await mutate<{ retirement: { id: string } }>(
    market,
    ['retire', 'RetireInput', 'retirement { id }'],
    { buyerId: 'acme', buyerName: 'Acme', tokenAddress, amountCO2e: 30 },
    callers.acme,
  );
  return { market, tokens, purchaseId, retirementId: payloadOf(retired).retirement.id };
}

function createToken(market: Marketplace, vintageYear: number): Promise<string> {
  return newToken(market, {
    vintageYear,
    quantityCO2e: vintageYear === 2022 ? 100 : 1000,
    projectLocation: 'Kasigau',
    countryCode: vintageYear === 2020 ? 'BR' : 'KE',
  });
}
