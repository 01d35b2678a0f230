/**
 * The plain server: purchases as a competent developer would write them with graphql-yoga, Drizzle and
 * postgres.js. One statement for each purchase takes the tonnes from the token, adds them to the buyer's
 * holding, and inserts the purchase.
 *
 * Leaves out: bearer tokens, idempotency keys, the audit log, double entry, rules in the database, limits,
 * and the network altogether. A purchase that fails half way can't be distinguished from one that did not
 * happen.
 */
import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/postgres-js';
import { createSchema, createYoga } from 'graphql-yoga';
import postgres from 'postgres';
import { serveBaseline } from './baselineServer.ts';

const POOL_SIZE = 20;

const db = drizzle(postgres(process.env['DATABASE_URL'] ?? '', { max: POOL_SIZE, onnotice: () => {} }));
await db.execute(
  sql`CREATE TABLE IF NOT EXISTS tokens (address text PRIMARY KEY, unsold bigint NOT NULL CHECK (unsold >= 0))`,
);
await db.execute(sql`CREATE TABLE IF NOT EXISTS holdings (address text NOT NULL, buyer_id text NOT NULL, tonnes bigint NOT NULL,
  PRIMARY KEY (address, buyer_id))`);
await db.execute(sql`CREATE TABLE IF NOT EXISTS purchases (id uuid PRIMARY KEY, address text NOT NULL, buyer_id text NOT NULL,
  tonnes bigint NOT NULL, created_at timestamptz NOT NULL DEFAULT now())`);
await db.execute(
  sql`INSERT INTO tokens SELECT 'token-' || n, 1000000000000 FROM generate_series(0, 63) AS n ON CONFLICT DO NOTHING`,
);

interface PurchaseInput {
  tokenAddress: string;
  buyerId: string;
  amountCO2e: number;
}

async function purchase({ tokenAddress, buyerId, amountCO2e }: PurchaseInput) {
  const id = randomUUID();
  const [done] = await db.execute<{ id: string }>(sql`
    WITH taken AS (UPDATE tokens SET unsold = unsold - ${amountCO2e}
        WHERE address = ${tokenAddress} AND unsold >= ${amountCO2e} RETURNING address),
      added AS (INSERT INTO holdings AS h SELECT address, ${buyerId}, ${amountCO2e} FROM taken
        ON CONFLICT (address, buyer_id) DO UPDATE SET tonnes = h.tonnes + excluded.tonnes)
    INSERT INTO purchases (id, address, buyer_id, tonnes)
    SELECT ${id}, address, ${buyerId}, ${amountCO2e} FROM taken RETURNING id`);
  if (!done) throw new Error('There are not enough unsold tonnes.');
  return { purchase: { id: done.id, tonnes: String(amountCO2e) } };
}

const yoga = createYoga({
  schema: createSchema({
    typeDefs: /* GraphQL */ `
      type Query {
        hello: String!
      }
      input PurchaseInput {
        buyerId: String!
        tokenAddress: String!
        amountCO2e: Int!
        idempotencyKey: String
      }
      type Purchase {
        id: ID!
        tonnes: String!
      }
      type PurchasePayload {
        purchase: Purchase!
      }
      type Mutation {
        purchase(input: PurchaseInput!): PurchasePayload!
      }
    `,
    resolvers: {
      Query: { hello: () => 'world' },
      Mutation: { purchase: (_root: unknown, { input }: { input: PurchaseInput }) => purchase(input) },
    },
  }),
  graphiql: false,
  landingPage: false,
  logging: false,
});

serveBaseline((request, response) => void yoga(request, response));
