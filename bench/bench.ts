/**
 * The surroundings of the rows: one PostgreSQL for product and baselines, servers that start when a row needs
 * them, and the load process. At the end every database of the product is reconciled.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { compiledPath, compilePrograms, programsFolderOf } from '../devnet/compilePrograms.ts';
import { openEmbeddedPostgres } from '../src/db/embedded/embeddedPostgres.ts';
import { startLoad, type Load } from './load/client.ts';
import { startServer, type ServerProcess } from './processes.ts';
import { createSecrets, startProduct, type Product } from './product.ts';
import { reconcileDatabase } from './reconcileDatabase.ts';
import { postponeReconciliation } from './seed/seeding.ts';

/** Size of the history in the rows about growth. */
export const SIZES = {
  short: { transfers: 100_000 },
  full: { transfers: 1_000_000 },
} as const;
export type Size = keyof typeof SIZES;

export interface Bench {
  rounds: number;
  /** Seconds of one turn. */
  seconds: number;
  size: (typeof SIZES)[Size];
  load: Load;
  /** Returns the product on a database of this name; rows that name the same database share one server. */
  product(database?: string): Promise<Product>;
  /** Starts the product on that database in a new process, which the row stops. */
  anotherProduct(database: string): Promise<Product>;
  baseline(program: BaselineProgram): Promise<ServerProcess>;
  /** Starts the product's HTTP server without a database in a new process, which the row stops. */
  productWithoutDatabase(): Promise<ServerProcess>;
  /** Makes a database for a row's own code. @returns its URL */
  newDatabase(name: string): Promise<string>;
  sql(database: string): postgres.Sql;
  reconcile(database: string): Promise<Reconciled>;
  /** Shows the current work to people who wait. */
  say(text: string): void;
  /** Stops everything. @returns the reconciliation of each database */
  close(options?: { reconcile: boolean }): Promise<Reconciled[]>;
}

const BASELINES = ['plainMarketplace', 'rawHttp', 'graphqlByHand', 'rawWebsockets'] as const;
type BaselineProgram = (typeof BASELINES)[number];

const WITHOUT_DATABASE = 'bench/productWithoutDatabase.ts';
const pathOf = (program: BaselineProgram) => `bench/baselines/${program}.ts`;

export interface Reconciled {
  database: string;
  holds: boolean;
  seconds: number;
  output: string;
}

const MAIN_DATABASE = 'marketplace';
const BASELINE_DATABASE = 'plain';

export async function openBench(options: {
  rounds: number;
  seconds: number;
  size: Size;
  say: (text: string) => void;
}): Promise<Bench> {
  const { rounds, seconds, say } = options;
  const folder = await mkdtemp(join(tmpdir(), 'bench-'));
  say('compiling the baselines as the product is');
  const programs = programsFolderOf(`bench-${process.pid}`);
  await compilePrograms(programs, [...BASELINES.map(pathOf), WITHOUT_DATABASE]);
  say('making a PostgreSQL database');
  const cluster = await openEmbeddedPostgres({ dataDir: folder, password: randomUUID() });
  const admin = postgres(cluster.ownerUrl, { max: 1, onnotice: () => {} });
  const load = startLoad();
  const secrets = createSecrets(randomBytes);
  const products = new Map<string, Promise<Product>>();
  const others: ServerProcess[] = [];
  const baselines = new Map<BaselineProgram, Promise<ServerProcess>>();
  const clients = new Map<string, postgres.Sql>();
  const urlOf = (database: string) =>
    Object.assign(new URL(cluster.ownerUrl), { pathname: `/${database}` }).href;
  const ensureDatabase = async (name: string) => {
    const found = await admin`SELECT FROM pg_database WHERE datname = ${name}`;
    if (found.length === 0) await admin.unsafe(`CREATE DATABASE ${name}`);
  };
  const sqlOf = (database: string) => {
    const client = clients.get(database) ?? postgres(urlOf(database), { max: 4, onnotice: () => {} });
    clients.set(database, client);
    return client;
  };
  const openProduct = async (database: string) => {
    say(`starting the product on ${database}`);
    await ensureDatabase(database);
    const product = await startProduct({ secrets, databaseUrl: urlOf(database), folder, database });
    await postponeReconciliation(sqlOf(database));
    return product;
  };
  const openBaseline = async (program: BaselineProgram) => {
    say(`starting the baseline ${program}`);
    await ensureDatabase(BASELINE_DATABASE);
    return startServer({
      program: compiledPath(programs, pathOf(program)),
      env: { DATABASE_URL: urlOf(BASELINE_DATABASE), PRODUCT_DATABASE_URL: urlOf(MAIN_DATABASE) },
      logFile: join(folder, `${program}.log`),
    });
  };
  const reconcileOne = (database: string) =>
    reconcileDatabase({ database, databaseUrl: urlOf(database), secrets, folder });
  return {
    rounds,
    seconds,
    size: SIZES[options.size],
    load,
    say,
    product: (database = MAIN_DATABASE) => remember(products, database, openProduct),
    async anotherProduct(database) {
      const product = await openProduct(database);
      others.push(product.process);
      return product;
    },
    baseline: (program) => remember(baselines, program, openBaseline),
    async productWithoutDatabase() {
      const server = await startServer({
        program: compiledPath(programs, WITHOUT_DATABASE),
        env: {},
        logFile: join(folder, 'without-database.log'),
      });
      others.push(server);
      return server;
    },
    async newDatabase(name) {
      await ensureDatabase(name);
      return urlOf(name);
    },
    sql: sqlOf,
    reconcile: reconcileOne,
    async close({ reconcile } = { reconcile: true }) {
      const reconciled: Reconciled[] = [];
      try {
        load.stop();
        const running = await Promise.allSettled([...products.values(), ...baselines.values()]);
        for (const server of running) if (server.status === 'fulfilled') await server.value.stop();
        for (const process of others) await process.stop();
        for (const client of clients.values()) await client.end();
        for (const database of reconcile ? products.keys() : []) {
          say(`reconciling ${database}`);
          reconciled.push(await reconcileOne(database));
        }
      } finally {
        await admin.end();
        await cluster.stop();
        // The cluster of a root user lies elsewhere, behind a link.
        await rm(await realpath(join(folder, 'postgres')), { recursive: true, force: true });
        for (const made of [folder, programs]) await rm(made, { recursive: true, force: true });
      }
      return reconciled;
    },
  };
}

function remember<K, V>(kept: Map<K, Promise<V>>, key: K, open: (key: K) => Promise<V>): Promise<V> {
  const value = kept.get(key) ?? open(key);
  kept.set(key, value);
  return value;
}
