/**
 * The fastest GraphQL server that can be written by hand: node:http, a cache of parsed and validated
 * documents, execution by graphql-js. It has the form of Mercurius with compiled documents, whose own
 * packages do not install silently on Node.js 20.
 *
 * Leaves out: tokens, limits of any kind, logs, GraphQL over HTTP's rules for methods and media types, masked
 * errors.
 */
import { buildSchema, execute, parse, validate, type DocumentNode } from 'graphql';
import { readJson, serveBaseline } from './baselineServer.ts';

const schema = buildSchema(/* GraphQL */ `
  input RetireInput {
    buyerId: String!
    buyerName: String!
    amountCO2e: Int!
  }
  type Query {
    hello: String
  }
  type Mutation {
    retire(input: RetireInput!): String
  }
`);
const rootValue = {
  retire: ({ input }: { input: { amountCO2e: number } }) => `${input.amountCO2e} tonnes`,
};

/** Unlimited, because the benchmark sends two documents. */
const documents = new Map<string, DocumentNode>();

function documentOf(source: string): DocumentNode {
  const kept = documents.get(source);
  if (kept) return kept;
  const document = parse(source);
  const [problem] = validate(schema, document);
  if (problem) throw problem;
  documents.set(source, document);
  return document;
}

serveBaseline((request, response) => {
  readJson(request, async (body) => {
    const { query, variables } = body as { query: string; variables?: Record<string, unknown> };
    const document = documentOf(query);
    const text = JSON.stringify(await execute({ schema, document, rootValue, variableValues: variables }));
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    });
    response.end(text);
  });
});
