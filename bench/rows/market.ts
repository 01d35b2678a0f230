/**
 * Projects, buyers and operations that the rows share.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { HttpClient } from '../load/messages.ts';
import type { Product } from '../product.ts';

/** More tonnes than any run sells. */
const PLENTY = 1_000_000_000;
const BUYERS = 64;

const POLL_INTERVAL_MS = 50;

const CREATE_PROJECT = `mutation CreateProject($input: CreateProjectInput!) {
  createProject(input: $input) { project { id } }
}`;
const PROJECT_STATE = 'query Project($id: ID!) { node(id: $id) { ... on Project { state tokenAddress } } }';
export const PURCHASE = `mutation Purchase($input: PurchaseInput!) {
  purchase(input: $input) { purchase { id tonnes } }
}`;
export const RETIRE = `mutation Retire($input: RetireInput!) {
  retire(input: $input) { txHash retirement { id state } }
}`;

export interface OpenProject {
  tokenAddress: string;
}

/** Opens projects with plenty to sell. */
export function openProjects(product: Product, count: number): Promise<OpenProject[]> {
  return Promise.all(Array.from({ length: count }, () => openProject(product)));
}

export async function openProject(product: Product, tonnes: number = PLENTY): Promise<OpenProject> {
  const key = uniqueKey();
  const { createProject } = await product.ask<{ createProject: { project: { id: string } } }>(
    CREATE_PROJECT,
    {
      input: {
        creditType: 'VCU',
        verificationBodyRef: `VCS-${key}`,
        vintageYear: 2024,
        quantityCO2e: tonnes,
        projectLocation: 'Kasigau Corridor',
        projectType: 'REDD+',
        countryCode: 'KE',
        idempotencyKey: key,
      },
    },
    ['developer', 'developer'],
  );
  for (;;) {
    const { node } = await product.ask<{ node: { state: string; tokenAddress: string } }>(PROJECT_STATE, {
      id: createProject.project.id,
    });
    if (node.state === 'OPEN') return { tokenAddress: node.tokenAddress };
    await delay(POLL_INTERVAL_MS);
  }
}

/** Buyers with bearer tokens; each buys one tonne of every given project in turn. */
export function buyingClients(product: Product, tokens: readonly OpenProject[]): Promise<HttpClient[]> {
  return clientsOf(product, (buyerId) => tokens.map(({ tokenAddress }) => purchaseBy(buyerId, tokenAddress)));
}

/** Buyers with bearer tokens who retire one tonne at a time, and the text of an answer that succeeded. */
export async function retiring(product: Product, { tokenAddress }: OpenProject) {
  const about = { buyerName: 'Bench Ltd', tokenAddress, amountCO2e: 1, note: 'measured' };
  const clients = await clientsOf(product, (buyerId) => [
    { query: RETIRE, variables: { input: { ...about, buyerId, idempotencyKey: '$KEY' } } },
  ]);
  return { port: product.port, clients, expect: '"state":"RETIRED"' };
}

/** Purchases of one token for the plain server, which reads no bearer tokens. */
export function plainClients(): HttpClient[] {
  return Array.from({ length: BUYERS }, (_, i) => ({
    headers: {},
    bodies: [JSON.stringify(purchaseBy(`buyer-${i}`, 'token-0'))],
  }));
}

function purchaseBy(buyerId: string, tokenAddress: string) {
  const input = { buyerId, tokenAddress, amountCO2e: 1, idempotencyKey: '$KEY' };
  return { query: PURCHASE, variables: { input } };
}

/** Gives every buyer of `retiring` this many tonnes to retire. */
export async function endow(product: Product, { tokenAddress }: OpenProject, tonnes: number): Promise<void> {
  for (let i = 0; i < BUYERS; i++) {
    const buyerId = `buyer-${i}`;
    const input = { buyerId, tokenAddress, amountCO2e: tonnes, idempotencyKey: uniqueKey() };
    await product.ask(PURCHASE, { input }, ['buyer', buyerId]);
  }
}

export function uniqueKey(): string {
  return crypto.randomUUID();
}

function clientsOf(product: Product, bodiesOf: (buyerId: string) => object[]): Promise<HttpClient[]> {
  return Promise.all(
    Array.from({ length: BUYERS }, async (_, i) => ({
      headers: await product.bearer('buyer', `buyer-${i}`),
      bodies: bodiesOf(`buyer-${i}`).map((body) => JSON.stringify(body)),
    })),
  );
}
