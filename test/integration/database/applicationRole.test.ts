/**
 * The application's role can do all that the platform does, and can't switch off a rule of the database.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { findPowersOverRules } from '../../../src/db/applicationRole.ts';
import { openDatabase, type DatabaseHandle } from '../../../src/db/connection.ts';
import { generateSecretKey } from '../../../src/lib/strkey.ts';
import { readSnapshot } from '../../../src/reconciliation/excerpt.ts';
import { reconcileAll, reconcileChanged } from '../../../src/reconciliation/reconcileAll.ts';
import { purchase } from '../../../src/resolvers/carbon/purchase.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import { openConfiguredDatabase } from '../../../src/startup/openDatabase.ts';
import { openProject } from '../../../devnet/platform.ts';
import { embeddedNetworkOn, platformOn } from '../../support/platform.ts';
import { memoryFolder } from '../../../devnet/memoryFolder.ts';

const id = randomUUID().replaceAll('-', '');
const name = `test_${id}`;
/** Roles as an operator has them: the owner of the database, and a role that may only connect. */
const owner = { name: `owner_${id}`, password: 'kH2vXq9TzL4mWc7RbN1s' };
const application = { name: `application_${id}`, password: 'Yd8GfJ3uPe6AoQ5wBt0x' };

let server: postgres.Sql;
let ownerUrl: string;
let url: string;
let dataDir: string;
let handle: DatabaseHandle;
let platform: Platform;

beforeAll(async () => {
  const serverUrl = inject('postgresUrl');
  const urlOf = (role: typeof owner) =>
    Object.assign(new URL(`${serverUrl}/${name}`), { username: role.name, password: role.password }).href;
  [ownerUrl, url] = [urlOf(owner), urlOf(application)];
  server = postgres(`${serverUrl}/postgres`, { max: 1, onnotice: () => {} });
  for (const role of [owner, application]) {
    await server.unsafe(`CREATE ROLE ${role.name} LOGIN PASSWORD '${role.password}'`);
  }
  await server.unsafe(`CREATE DATABASE ${name} OWNER ${owner.name}`);
  // The tests' server switches it off.
  await server.unsafe(`ALTER DATABASE ${name} SET synchronous_commit = on`);
  dataDir = await mkdtemp(join(await memoryFolder(), 'roles-'));
});
afterAll(async () => {
  await platform?.stop();
  await handle?.close();
  await server.unsafe(`DROP DATABASE ${name}`);
  await server.unsafe(`DROP ROLE ${application.name}, ${owner.name}`);
  await server.end();
  await rm(dataDir, { recursive: true, force: true });
});

/** Opens the database as in production, where a role that may change the rules is refused. */
const opened = async (
  settings: Record<string, string>,
  options?: Parameters<typeof openConfiguredDatabase>[1],
) => {
  const secret = () => randomBytes(32).toString('base64');
  const database = await openConfiguredDatabase(
    await loadConfig({
      NODE_ENV: 'production',
      DATA_DIR: dataDir,
      LEDGER_NETWORK: 'embedded',
      LEDGER_SECRET_KEY: generateSecretKey(randomBytes),
      APP_SECRET: secret(),
      AUTH_SECRETS: secret(),
      PUBLIC_URL: 'https://api.example',
      RAMP_EXCHANGE_RATES: 'KES=0.02',
      APPROVALS: 'off',
      TRUSTED_PROXY_HOPS: '0',
      ...settings,
    }),
    options,
  );
  await database.stop();
  return database.warnings;
};

const started = (settings: Record<string, string>) => opened(settings, { olderSchema: 'migrate' });

const execute = async (as: string, statement: string) => {
  const sql = postgres(as, { max: 1, onnotice: () => {} });
  try {
    await sql.unsafe(statement);
  } finally {
    await sql.end();
  }
};

describe('a command', () => {
  it('leaves an older schema to `npm run migrate`, also where it has the address of the owner', async () => {
    const urls = { DATABASE_URL: url, DATABASE_MIGRATION_URL: ownerUrl };
    await expect(opened(urls)).rejects.toThrow(/needs a migration.*"npm run migrate"/);
    await expect(opened({ DATABASE_URL: url })).rejects.toThrow(/needs a migration.*"npm run migrate"/);
    const sql = postgres(ownerUrl, { max: 1 });
    const tables = await sql`SELECT FROM pg_tables WHERE schemaname IN ('public', 'drizzle')`;
    await sql.end();
    expect(tables.length).toBe(0);
  });
});

describe('a start', () => {
  it('by the application’s role alone says that the database has to be migrated by its owner', async () => {
    await expect(started({ DATABASE_URL: url })).rejects.toThrow(/npm run migrate.*DATABASE_MIGRATION_URL/);
  });

  it('with both migrates and grants, and from then on needs the application’s role alone', async () => {
    // Some administrators let each role see only its own schemas.
    await execute(ownerUrl, 'REVOKE ALL ON SCHEMA public FROM PUBLIC');
    await expect(started({ DATABASE_URL: url, DATABASE_MIGRATION_URL: ownerUrl })).resolves.toEqual([]);
    await expect(started({ DATABASE_URL: url })).resolves.toEqual([]);
    await expect(opened({ DATABASE_URL: url })).resolves.toEqual([]);
  });

  it('on a database that loses commits in a crash is refused in production', async () => {
    await server.unsafe(`ALTER ROLE ${application.name} SET synchronous_commit = off`);
    try {
      await expect(started({ DATABASE_URL: url })).rejects.toThrow(/synchronous_commit = off.*ALTER ROLE/);
      await expect(started({ DATABASE_URL: url, NODE_ENV: 'development' })).resolves.toEqual([]);
    } finally {
      await server.unsafe(`ALTER ROLE ${application.name} RESET synchronous_commit`);
    }
  });

  it('leaves the database at a DATABASE_MIGRATION_URL that is another one, and says so', async () => {
    const other = `other_${id}`;
    await server.unsafe(`CREATE DATABASE ${other} OWNER ${owner.name}`);
    try {
      const elsewhere = ownerUrl.replace(name, other);
      const start = started({ DATABASE_URL: url, DATABASE_MIGRATION_URL: elsewhere });
      await expect(start).rejects.toThrow(/DATABASE_MIGRATION_URL leads to another database/);
      const sql = postgres(elsewhere, { max: 1 });
      const tables = await sql`SELECT FROM pg_tables WHERE schemaname IN ('public', 'drizzle')`;
      await sql.end();
      expect(tables.length).toBe(0);
    } finally {
      await server.unsafe(`DROP DATABASE ${other}`);
    }
  });

  it('by the owner is refused in production, unless that is asked for', async () => {
    await expect(started({ DATABASE_URL: ownerUrl })).rejects.toThrow(/owns tables.*DATABASE_ROLES=single/);
    await started({ DATABASE_URL: ownerUrl, DATABASE_ROLES: 'single' });
  });

  it.each([
    [
      'is a member',
      `GRANT ${owner.name} TO ${application.name}`,
      `REVOKE ${owner.name} FROM ${application.name}`,
    ],
    [
      'owns a function',
      `ALTER FUNCTION refuse_change OWNER TO ${application.name}`,
      `ALTER FUNCTION refuse_change OWNER TO ${owner.name}`,
    ],
    ['adds triggers', 'GRANT TRIGGER ON transfers TO PUBLIC', 'REVOKE TRIGGER ON transfers FROM PUBLIC'],
    ['creates', 'GRANT CREATE ON SCHEMA public TO PUBLIC', 'REVOKE CREATE ON SCHEMA public FROM PUBLIC'],
    [
      'turns triggers off',
      `GRANT SET ON PARAMETER session_replication_role TO ${application.name}`,
      `REVOKE SET ON PARAMETER session_replication_role FROM ${application.name}`,
    ],
    [
      'may become a superuser',
      `GRANT postgres TO ${application.name}`,
      `REVOKE postgres FROM ${application.name}`,
    ],
    [
      'runs programs on the server',
      `GRANT pg_execute_server_program TO ${application.name}`,
      `REVOKE pg_execute_server_program FROM ${application.name}`,
    ],
    [
      'may become one that empties tables',
      `CREATE ROLE helper_${id}; GRANT TRUNCATE ON transfers TO helper_${id};
       GRANT helper_${id} TO ${application.name} WITH INHERIT FALSE`,
      `REVOKE ALL ON transfers FROM helper_${id}; DROP ROLE helper_${id}`,
    ],
    [
      'makes roles',
      `ALTER ROLE ${application.name} CREATEROLE`,
      `ALTER ROLE ${application.name} NOCREATEROLE`,
    ],
  ])('by an application’s role that %s is refused', async (_what, grant, revoke) => {
    const administrator = `${inject('postgresUrl')}/${name}`;
    try {
      await execute(administrator, grant);
      await expect(started({ DATABASE_URL: url })).rejects.toThrow(/could switch off the rules/);
    } finally {
      await execute(administrator, revoke);
    }
  });

  it('takes back what was granted beyond the need', async () => {
    await execute(ownerUrl, `GRANT ALL ON transfers, audit_entries TO ${application.name}`);
    await expect(started({ DATABASE_URL: url })).rejects.toThrow(/may empty tables or add triggers/);
    await expect(started({ DATABASE_URL: url, DATABASE_MIGRATION_URL: ownerUrl })).resolves.toEqual([]);
  });

  it('of an older version leaves alone what a newer one has granted, and warns', async () => {
    await execute(
      ownerUrl,
      `CREATE TABLE of_newer (); GRANT SELECT, DELETE ON of_newer TO ${application.name};
       INSERT INTO drizzle.platform_migrations (hash, created_at)
         SELECT 'newer', max(created_at) + 1 FROM drizzle.platform_migrations`,
    );
    const urls = { DATABASE_URL: url, DATABASE_MIGRATION_URL: ownerUrl };
    expect(await started(urls)).toEqual([expect.stringContaining('migrated by a newer version')]);
    expect(await opened(urls)).toEqual([expect.stringContaining('migrated by a newer version')]);
    await execute(url, 'DELETE FROM of_newer');
    const undo = `DROP TABLE of_newer; DELETE FROM drizzle.platform_migrations WHERE hash = 'newer'`;
    await execute(ownerUrl, undo);
    expect(await started(urls)).toEqual([]);
  });
});

describe('the running platform', () => {
  beforeAll(async () => {
    handle = openDatabase({ url, poolSize: 8, applicationName: 'application' });
    platform = await platformOn(handle, await embeddedNetworkOn(handle));
    await platform.start();
  });

  it('sells, retires and reconciles, in full and by what has changed', async () => {
    const { dependencies } = platform;
    const before = await readSnapshot(dependencies.db);
    const { tokenAddress } = await openProject(platform, 10n);
    await purchase(dependencies, 'acme', {
      buyerId: 'acme',
      tokenAddress,
      amountCO2e: 10n,
      idempotencyKey: randomUUID(),
    });
    const retirement = await retire(dependencies, 'acme', {
      buyerId: 'acme',
      buyerName: 'Acme Ltd',
      tokenAddress,
      amountCO2e: 3n,
      note: '',
      idempotencyKey: randomUUID(),
    });
    expect(retirement.state).toBe('RETIRED');
    expect(await reconcileAll(dependencies)).toMatchObject({ findings: [], notProved: [] });
    expect(await reconcileChanged(dependencies, before)).toMatchObject({
      projects: 1,
      findings: [],
      notProved: [],
    });
  });

  it.each([
    'ALTER TABLE transfers DISABLE TRIGGER transfers_rows_stay',
    'ALTER TABLE transfers DISABLE TRIGGER ALL',
    'ALTER TABLE accounts DROP CONSTRAINT accounts_pkey',
    'SET session_replication_role = replica',
    'DROP TRIGGER transfers_rows_stay ON transfers',
    'CREATE TRIGGER mine BEFORE INSERT ON transfers FOR EACH ROW EXECUTE FUNCTION refuse_change()',
    "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    'ALTER FUNCTION refuse_change() RENAME TO gone',
    'TRUNCATE audit_entries',
    'TRUNCATE embedded_network.events',
    'DROP TABLE transfers',
    'DROP SCHEMA public CASCADE',
    'CREATE TABLE mine (id int)',
    'CREATE SCHEMA mine',
    'UPDATE transfers SET amount_tonnes = 1',
    'DELETE FROM transfers',
    'DELETE FROM accounts',
    'DELETE FROM drizzle.platform_migrations',
    `SET ROLE ${owner.name}`,
    'SET ROLE postgres',
    `ALTER ROLE ${application.name} SUPERUSER`,
    `GRANT ${owner.name} TO ${application.name}`,
    'CREATE EXTENSION dblink',
    "COPY transfers TO PROGRAM 'cat'",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT lo_import('/etc/passwd')",
    "UPDATE pg_trigger SET tgenabled = 'D'",
    'CREATE FUNCTION mine() RETURNS int LANGUAGE sql SECURITY DEFINER AS $$ SELECT 1 $$',
    'CREATE RULE mine AS ON INSERT TO transfers DO INSTEAD NOTHING',
    'ALTER TABLE audit_entries ENABLE ROW LEVEL SECURITY',
    'ALTER TABLE transfers INHERIT audit_entries',
    'ALTER FUNCTION refuse_change() SET search_path = pg_temp',
    'REINDEX TABLE transfers',
    'COMMENT ON TABLE transfers IS NULL',
  ])('is refused: %s', async (statement) => {
    await expect(handle.sql.unsafe(statement)).rejects.toMatchObject({ code: '42501' });
  });

  it('holds the rules on the real tables, also where a temporary one has the name of another', async () => {
    const posting = handle.sql.unsafe(`
      CREATE TEMPORARY TABLE accounts ON COMMIT DROP AS TABLE public.accounts;
      INSERT INTO transfers (id, project_id, kind, cause_id, debit_account_id, debit_version, debit_balance_tonnes,
        credit_account_id, credit_version, credit_balance_tonnes, amount_tonnes, created_at) SELECT gen_random_uuid(), project_id, kind, gen_random_uuid(), debit_account_id,
        debit_version + 1, debit_balance_tonnes - amount_tonnes, credit_account_id, credit_version + 1,
        credit_balance_tonnes + amount_tonnes, amount_tonnes, now()
        FROM transfers WHERE kind = 'issue' LIMIT 1`);
    await expect(posting).rejects.toThrow(/do not continue its history/);
  });

  const ownFunction = (change: string) => `
    CREATE FUNCTION pg_temp.forge() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${change}; RETURN NULL; END $$;
    CREATE TRIGGER forge AFTER INSERT ON forged FOR EACH ROW EXECUTE FUNCTION pg_temp.forge()`;

  it.each([
    [
      'changes a balance',
      ownFunction(`UPDATE accounts SET balance_tonnes = balance_tonnes + 1 WHERE kind = 'buyer'`),
    ],
    ['changes a version', ownFunction(`UPDATE accounts SET version = version + 1 WHERE kind = 'buyer'`)],
    ['changes an owner', ownFunction(`UPDATE accounts SET owner_id = 'thief' WHERE kind = 'buyer'`)],
    [
      'opens an account that is there',
      ownFunction(`INSERT INTO accounts AS a (project_id, kind, owner_id) SELECT project_id, kind, owner_id FROM accounts
        ON CONFLICT (project_id, kind, owner_id) DO UPDATE SET balance_tonnes = a.balance_tonnes + 1`),
    ],
    [
      'calls the function of the rules',
      `CREATE TRIGGER forge AFTER INSERT ON forged REFERENCING NEW TABLE AS posted FOR EACH STATEMENT
        EXECUTE FUNCTION move_accounts()`,
    ],
  ])('moves no account by a trigger on a temporary table that %s', async (_what, trigger) => {
    const forging = handle.sql.unsafe(`
      CREATE TEMPORARY TABLE forged ON COMMIT DROP AS TABLE transfers WITH NO DATA;
      ${trigger};
      INSERT INTO forged (id, project_id, kind, debit_account_id, debit_version, debit_balance_tonnes, credit_account_id,
          credit_version, credit_balance_tonnes, amount_tonnes)
        -- The rules of the books allow a hold like this one.
        SELECT gen_random_uuid(), t.project_id, t.kind, d.id, d.version + 1, d.balance_tonnes - 1, c.id, c.version + 1,
          c.balance_tonnes + 1, 1
        FROM transfers t JOIN accounts d ON d.id = t.debit_account_id JOIN accounts c ON c.id = t.credit_account_id
        WHERE t.kind = 'retirement_hold' LIMIT 1;
      DROP FUNCTION IF EXISTS pg_temp.forge() CASCADE`);
    await expect(forging).rejects.toMatchObject({ code: '23000' });
  });

  it('is granted no change that the rules of a table refuse in any case', async () => {
    const granted = await handle.sql<{ table: string; privilege: string }[]>`
      SELECT DISTINCT t.tgrelid::regclass::text AS table, p.privilege FROM pg_trigger t
      JOIN (VALUES (8, 'DELETE'), (32, 'TRUNCATE')) AS p (bit, privilege) ON t.tgtype & p.bit <> 0
      WHERE t.tgfoid::regproc::text ~ 'refuse_change$' AND t.tgqual IS NULL AND t.tgtype & 2 <> 0
        AND has_table_privilege(t.tgrelid, p.privilege)`;
    expect([...granted]).toEqual([]);
    expect(await findPowersOverRules(handle.sql)).toEqual({ role: application.name, powers: [] });
  });
});
