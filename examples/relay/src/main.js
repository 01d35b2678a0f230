/**
 * A buyer's program with Relay's store, without a user interface: reads projects, purchases, follows the
 * feed, retires. Each operation is sent by its id alone, which the compiler has written, so the server has to
 * know the documents: TRUSTED_DOCUMENTS=examples/relay/src/__generated__/queries.json
 *
 *   API_URL=http://localhost:4000/graphql TOKEN=… BUYER_ID=acme node examples/relay/src/main.js
 */
import { randomUUID } from 'node:crypto';
import { createClient } from 'graphql-ws';
import relay from 'relay-runtime';
import { WebSocket } from 'ws';
import liveSubscription from './__generated__/operationsLiveSubscription.graphql.js';
import projectsQuery from './__generated__/operationsProjectsQuery.graphql.js';
import purchaseMutation from './__generated__/operationsPurchaseMutation.graphql.js';
import refetchQuery from './__generated__/operationsProjectRefetchQuery.graphql.js';
import retireMutation from './__generated__/operationsRetireMutation.graphql.js';

const { Environment, Network, Observable, RecordSource, Store } = relay;
const { API_URL = 'http://localhost:4000/graphql', TOKEN = '', BUYER_ID = 'acme' } = process.env;
const authorization = `Bearer ${TOKEN}`;

const socket = createClient({
  url: API_URL.replace(/^http/, 'ws'),
  webSocketImpl: WebSocket,
  connectionParams: { authorization },
});

async function send({ id }, variables) {
  const response = await fetch(API_URL, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization },
    body: JSON.stringify({ documentId: id, variables }),
  });
  return response.json();
}

/** graphql-transport-ws requires a query, so an operation by its id has an empty one. */
function subscribe({ id }, variables) {
  const payload = {
    query: '',
    variables,
    extensions: { persistedQuery: { version: 1, sha256Hash: id } },
  };
  return Observable.create((sink) => socket.subscribe(payload, sink));
}

const environment = new Environment({
  network: Network.create(send, subscribe),
  store: new Store(new RecordSource()),
});

const mutate = (mutation, input) =>
  new Promise((resolve, reject) => {
    relay.commitMutation(environment, {
      mutation,
      variables: { input },
      onCompleted: (answer, errors) =>
        errors?.length ? reject(new Error(errors.map(({ message }) => message).join('; '))) : resolve(answer),
      onError: reject,
    });
  });

/** From the first one on, so that none is missed while the subscription opens. */
const retirementFor = (beneficiary) =>
  new Promise((resolve, reject) => {
    const live = relay.requestSubscription(environment, {
      subscription: liveSubscription,
      variables: { after: '0' },
      onNext: ({ retirementFeed: { record } }) => {
        if (record.beneficiary !== beneficiary) return;
        resolve(record);
        live.dispose();
      },
      onError: reject,
    });
  });

await relay.fetchQuery(environment, projectsQuery, {}).toPromise();
const stored = environment.getStore().getSource().toJSON();
const project = Object.values(stored).find(
  ({ __typename, state }) => __typename === 'Project' && state === 'OPEN',
);
if (project === undefined) throw new Error('No project is open.');

const beneficiary = `Relay Example ${randomUUID()}`;
const live = retirementFor(beneficiary);
const amount = { buyerId: BUYER_ID, tokenAddress: project.tokenAddress, amountCO2e: '3' };
await mutate(purchaseMutation, { ...amount, idempotencyKey: randomUUID() });
await mutate(retireMutation, { ...amount, buyerName: beneficiary, idempotencyKey: randomUUID() });
const record = await live;
// The purchase has changed the project: asked for again by its id, as a component with @refetchable does.
await relay.fetchQuery(environment, refetchQuery, { id: project.__id }).toPromise();
const { unsoldTonnes } = environment.getStore().getSource().get(project.__id);

process.stdout.write(
  `${JSON.stringify({ before: project.unsoldTonnes, after: unsoldTonnes, live: record })}\n`,
);
await socket.dispose();
