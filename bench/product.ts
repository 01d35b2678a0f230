/**
 * The product as an operator runs it, in a separate process: every check, the log and the audit are on. Only
 * the rate limits are above the load that one machine can generate.
 */
import { join } from 'node:path';
import type { Role } from '../src/identity/roles.ts';
import { signToken } from '../src/identity/tokens.ts';
import { systemClock } from '../src/lib/clock.ts';
import { generateSecretKey, type RandomBytes } from '../src/lib/strkey.ts';
import { startServer, type ServerProcess } from './processes.ts';

export interface Secrets {
  app: string;
  auth: string;
  ledgerKey: string;
}

export interface ProductOptions {
  secrets: Secrets;
  databaseUrl: string;
  database: string;
  folder: string;
}

export interface Product {
  port: number;
  process: ServerProcess;
  /** Headers that identify a caller. */
  bearer(role: Role, subject: string): Promise<Record<string, string>>;
  /** Sends one operation. @throws when the answer has errors */
  ask<T>(query: string, variables: Readonly<Record<string, unknown>>, as?: [Role, string]): Promise<T>;
  stop(): Promise<void>;
}

/** The program of `npm start`, which `npm run bench` builds first. */
export const BUILT_SERVER = 'build/main.js';

const ISSUER = 'asset-token-marketplace';
const TOKEN_SECONDS = 24 * 3600;
const BEYOND_ONE_MACHINE = '1000000000';

export function createSecrets(randomBytes: RandomBytes): Secrets {
  const text = () => Buffer.from(randomBytes(32)).toString('base64');
  return { app: text(), auth: text(), ledgerKey: generateSecretKey(randomBytes) };
}

export function productEnvironment({ secrets, databaseUrl, folder, database }: ProductOptions) {
  return {
    DATABASE_URL: databaseUrl,
    DATA_DIR: join(folder, `data-${database}`),
    APP_SECRET: secrets.app,
    AUTH_SECRETS: secrets.auth,
    LEDGER_NETWORK: 'embedded',
    LEDGER_SECRET_KEY: secrets.ledgerKey,
    RATE_LIMIT_ADDRESS_PER_MINUTE: BEYOND_ONE_MACHINE,
    RATE_LIMIT_CALLER_PER_MINUTE: BEYOND_ONE_MACHINE,
    RATE_LIMIT_MUTATIONS_PER_MINUTE: BEYOND_ONE_MACHINE,
    MAX_CPU_PERCENT_PER_ADDRESS: '1000000',
    MAX_CONNECTIONS: '20000',
    MAX_CONNECTIONS_PER_ADDRESS: '20000',
    MAX_SOCKETS_PER_ADDRESS: '20000',
    MAX_SUBSCRIPTIONS_PER_ADDRESS: '20000',
    // Maximum for an address: a fiftieth of the queries; for a caller: half of the mutations.
    MAX_QUERIES_IN_FLIGHT: '10000',
    MAX_MUTATIONS_IN_FLIGHT: '4000',
    MUTATION_WAIT_MS: '60000',
  };
}

export async function startProduct(options: ProductOptions): Promise<Product> {
  const { secrets, folder, database } = options;
  const server = await startServer({
    program: BUILT_SERVER,
    env: productEnvironment(options),
    logFile: join(folder, `product-${database}.log`),
  });
  const bearer: Product['bearer'] = async (role, subject) => ({
    authorization: `Bearer ${await signToken({
      secret: secrets.auth,
      issuer: ISSUER,
      audience: ISSUER,
      subject,
      roles: [role],
      expiresInSeconds: TOKEN_SECONDS,
      now: systemClock.now,
    })}`,
  });
  return {
    port: server.port,
    process: server,
    bearer,
    stop: server.stop,
    async ask<T>(query: string, variables: Readonly<Record<string, unknown>>, as?: [Role, string]) {
      const response = await fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(as ? await bearer(...as) : {}) },
        body: JSON.stringify({ query, variables }),
      });
      const answer = (await response.json()) as { data?: T | null; errors?: unknown[] };
      if (answer.errors !== undefined || answer.data == null) {
        throw new Error(`the product answered ${JSON.stringify(answer)} to ${query}`);
      }
      return answer.data;
    },
  };
}
