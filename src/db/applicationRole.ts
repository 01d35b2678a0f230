/**
 * The privileges of the application's role in the database: those that the program needs, and none that
 * changes the rules. The migrations' role owns the tables, and a role that owns no table can't disable its
 * triggers.
 */
import type postgres from 'postgres';
import type { DatabaseHandle } from './connection.ts';

type Privilege = 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE';

/** Tables that only functions of the owner write; the role reads them. */
const READ: ReadonlySet<string> = new Set(['public.audit_prunings']);

/** Tables whose rows are written once, and are neither changed nor locked. */
const APPENDED: ReadonlySet<string> = new Set([
  'public.idempotency_keys',
  'public.issuance_caps',
  'public.manual_ramp_statuses',
  'public.off_ramp_provider_statuses',
  'public.operator_decisions',
  'public.project_prices',
  'public.transfers',
  'public.transparency_checkpoints',
  'embedded_network.events',
  'embedded_network.retirements',
  'embedded_network.transactions',
]);

/** Tables whose rows are deleted when they are expired, handled or withdrawn. */
const DELETED: ReadonlySet<string> = new Set([
  'public.indexer_events',
  'public.rate_limits',
  'public.token_revocations',
  'public.transparency_open_entries',
  'embedded_network.webhooks',
]);

const HISTORY_SCHEMA = 'drizzle';
const SCHEMAS = ['public', 'embedded_network', HISTORY_SCHEMA].join(' ');

interface Relation {
  schema: string;
  name: string;
  isView: boolean;
  /** The privileges granted to the role itself, in alphabetical order. */
  granted: string[];
}

/**
 * Grants the role the privileges that it needs and revokes all others. Writes nothing when the privileges are
 * right already, because each change makes every connection plan its statements anew.
 */
export async function grantApplicationRole(sql: postgres.Sql, role: string): Promise<void> {
  const [own] = await sql<{ isOwn: boolean }[]>`SELECT current_user = ${role} AS "isOwn"`;
  if (own?.isOwn) return;
  const statements = [
    ...(await findSchemaGrants(sql, role)),
    ...(await findTableGrants(sql, role)),
    ...(await findFunctionGrants(sql, role)),
  ];
  if (statements.length === 0) return;
  await sql.begin(async (tx) => {
    for (const statement of statements) await tx.unsafe(statement);
  });
}

async function findSchemaGrants(sql: postgres.Sql, role: string): Promise<string[]> {
  const rows = await sql<{ statement: string }[]>`
    SELECT format('GRANT USAGE ON SCHEMA %I TO %I', nspname, ${role}::text) AS statement FROM pg_namespace
    WHERE nspname = ANY (string_to_array(${SCHEMAS}, ' ')) AND NOT has_schema_privilege(${role}, oid, 'USAGE')`;
  return rows.map(({ statement }) => statement);
}

async function findTableGrants(sql: postgres.Sql, role: string): Promise<string[]> {
  const relations = await sql<Relation[]>`
    SELECT n.nspname AS schema, c.relname AS name, c.relkind = 'v' AS "isView",
      array_to_json(ARRAY(SELECT a.privilege_type::text FROM aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee
        WHERE r.rolname = ${role} ORDER BY 1)) AS granted
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'v') AND n.nspname = ANY (string_to_array(${SCHEMAS}, ' '))`;
  return relations.flatMap((relation) => {
    const needed = privilegesOn(relation);
    if (needed.toSorted().join() === relation.granted.join()) return [];
    const [name, to] = [`${quote(relation.schema)}.${quote(relation.name)}`, quote(role)];
    return [`REVOKE ALL ON ${name} FROM ${to}`, `GRANT ${needed.join(', ')} ON ${name} TO ${to}`];
  });
}

function privilegesOn({ schema, name, isView }: Relation): Privilege[] {
  // The program reads the history of migrations to find a missing one.
  if (isView || schema === HISTORY_SCHEMA) return ['SELECT'];
  const table = `${schema}.${name}`;
  if (READ.has(table)) return ['SELECT'];
  if (APPENDED.has(table)) return ['SELECT', 'INSERT'];
  return DELETED.has(table)
    ? ['SELECT', 'INSERT', 'UPDATE', 'DELETE']
    : // Locking a row needs the right to change it. The triggers refuse changes that no one may make.
      ['SELECT', 'INSERT', 'UPDATE'];
}

/** Returns few grants: every role may execute most functions, unless the database's defaults were changed. */
async function findFunctionGrants(sql: postgres.Sql, role: string): Promise<string[]> {
  const rows = await sql<{ statement: string }[]>`
    SELECT format('GRANT EXECUTE ON FUNCTION %s TO %I', p.oid::regprocedure, ${role}::text) AS statement
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname = ANY (string_to_array(${SCHEMAS}, ' ')) AND NOT has_function_privilege(${role}, p.oid, 'EXECUTE')
      AND pg_has_role(p.proowner, 'USAGE')`;
  return rows.map(({ statement }) => statement);
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * Finds the powers by which the role of this connection could change the rules of the database. Each power is
 * the end of a sentence that begins with the role's name. A member of another role can take that role's
 * place, even if it does not inherit that role's privileges.
 */
export async function findPowersOverRules(
  sql: DatabaseHandle['sql'],
): Promise<{ role: string; powers: string[] }> {
  const [row] = await sql<{ role: string; powers: string[] }[]>`
    WITH schemas AS (
      SELECT oid FROM pg_namespace WHERE nspname = ANY (string_to_array(${SCHEMAS}, ' '))
    ), relations AS (
      SELECT c.oid, c.relowner FROM pg_class c JOIN schemas s ON s.oid = c.relnamespace WHERE c.relkind IN ('r', 'v')
    ), owners AS (
      SELECT relowner AS owner FROM relations
      UNION SELECT proowner FROM pg_proc p JOIN schemas s ON s.oid = p.pronamespace
    ), others AS (
      SELECT o.* FROM pg_roles o WHERE o.rolname <> current_user AND pg_has_role(o.oid, 'MEMBER')
    ), roles AS (
      SELECT oid FROM pg_roles WHERE pg_has_role(oid, 'MEMBER')
    )
    SELECT current_user AS role, array_to_json(array_remove(ARRAY[
      CASE WHEN r.rolsuper THEN 'is a superuser' END,
      CASE WHEN r.rolcreaterole THEN 'may make roles' END,
      CASE WHEN NOT r.rolsuper AND EXISTS (SELECT FROM others WHERE rolsuper OR rolcreaterole
          OR rolname IN ('pg_execute_server_program', 'pg_write_server_files'))
        THEN 'is a member of a role that is a superuser, may make roles, or acts as the server on its machine' END,
      CASE WHEN NOT r.rolsuper AND EXISTS (SELECT FROM owners WHERE pg_has_role(owner, 'MEMBER'))
        THEN 'owns tables or functions, or is a member of a role that does' END,
      CASE WHEN NOT r.rolsuper AND EXISTS (SELECT FROM pg_database
          WHERE datname = current_database() AND pg_has_role(datdba, 'MEMBER'))
        THEN 'owns the database' END,
      CASE WHEN NOT r.rolsuper AND EXISTS (SELECT FROM relations t, roles m
          WHERE has_table_privilege(m.oid, t.oid, 'TRUNCATE, TRIGGER'))
        THEN 'may empty tables or add triggers' END,
      CASE WHEN NOT r.rolsuper AND EXISTS (SELECT FROM schemas s, roles m
          WHERE has_schema_privilege(m.oid, s.oid, 'CREATE'))
        THEN 'may create in the schema' END,
      CASE WHEN NOT r.rolsuper AND EXISTS (SELECT FROM roles m
          WHERE has_parameter_privilege(m.oid, 'session_replication_role', 'SET'))
        THEN 'may set session_replication_role' END
    ], NULL)) AS powers
    FROM pg_roles r WHERE r.rolname = current_user`;
  if (!row) throw new Error('The role of this connection is not in pg_roles');
  return row;
}
