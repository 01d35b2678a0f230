/**
 * What a page of one buyer does: finds an open project, purchases, follows the live retirements, and retires.
 * The server has to know its documents: TRUSTED_DOCUMENTS=examples/web/src/graphql/persisted-documents.json
 *
 *   API_URL=http://localhost:4000/graphql TOKEN=… BUYER_ID=acme node --import tsx examples/web/src/main.ts
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { ApolloClient } from '@apollo/client';
import { createWebClient } from './client.ts';
import * as operations from './graphql/graphql.ts';

/** A retirement is final after seconds on most networks. */
const POLL_INTERVAL_MS = 200;
const FINAL_WITHIN_MS = 60_000;

async function run(client: ApolloClient, buyerId: string): Promise<void> {
  const { data: page } = await client.query({
    query: operations.OpenProjectsDocument,
    variables: { first: 20 },
  });
  const project = page?.projects?.edges.map(({ node }) => node).find(({ state }) => state === 'OPEN');
  if (project?.tokenAddress == null) throw new Error('No project is open.');
  const { tokenAddress } = project;

  const beneficiary = `Web Example ${randomUUID()}`;
  const live = retirementFor(client, beneficiary);
  const amount = { buyerId, tokenAddress, amountCO2e: 5 };
  await client.mutate({
    mutation: operations.PurchaseDocument,
    variables: { input: { ...amount, idempotencyKey: randomUUID() } },
  });
  const { data } = await client.mutate({
    mutation: operations.RetireDocument,
    variables: { input: { ...amount, buyerName: beneficiary, idempotencyKey: randomUUID() } },
  });
  const id = data?.retire?.retirement?.id;
  if (id === undefined) throw new Error('The retirement was not taken.');
  const { txHash } = await retired(client, id);
  const record = await live;
  process.stdout.write(`${JSON.stringify({ project: project.assetId, txHash, live: record })}\n`);
}

/** From the first record on, so that the client misses none. A real page would keep the last cursor. */
async function retirementFor(client: ApolloClient, beneficiary: string) {
  const feed = client.subscribe({ query: operations.LiveRetirementsDocument, variables: { after: '0' } });
  return new Promise((resolve, reject) => {
    const subscription = feed.subscribe({
      next: ({ data, error }) => {
        if (error) reject(error);
        const record = data?.retirementFeed.record;
        if (record?.beneficiary !== beneficiary) return;
        resolve(record);
        subscription.unsubscribe();
      },
      error: reject,
    });
  });
}

async function retired(client: ApolloClient, id: string): Promise<{ txHash: string | null }> {
  const deadline = Date.now() + FINAL_WITHIN_MS;
  while (Date.now() < deadline) {
    const { data } = await client.query({
      query: operations.RetirementStateDocument,
      variables: { id },
      fetchPolicy: 'network-only',
    });
    const node = data?.node;
    if (node?.__typename === 'Retirement') {
      if (node.state === 'RETIRED') return node;
      if (node.state !== 'PENDING') throw new Error(`The retirement is ${node.state}.`);
    }
    await delay(POLL_INTERVAL_MS);
  }
  throw new Error('The retirement is not final yet; ask again by its id.');
}

const { API_URL = 'http://localhost:4000/graphql', TOKEN = '', BUYER_ID = 'acme' } = process.env;
const client = createWebClient(API_URL, TOKEN);
await run(client, BUYER_ID);
client.stop();
