/**
 * Seeds purchases of one tonne each, with their keys and audit entries, as the product would have written
 * them.
 */
import { createHash } from 'node:crypto';
import type postgres from 'postgres';
import { seed } from './seeding.ts';

const SEEDED = 'seeded';

/**
 * The transparency logs read all rows of each committed transaction, and no real transaction writes millions
 * of rows.
 */
const PER_TRANSACTION = 50_000;

/** @param tokenAddress of a project with enough unsold tonnes, whose books are not used meanwhile */
export async function seedPurchases(sql: postgres.Sql, tokenAddress: string, count: number): Promise<void> {
  await seed(
    sql,
    (tx, transaction) =>
      seedSome(tx, tokenAddress, Math.min(PER_TRANSACTION, count - transaction * PER_TRANSACTION)),
    Math.ceil(count / PER_TRANSACTION),
  );
}

/** Seeds one transaction's purchases, by a new buyer. */
async function seedSome(tx: postgres.TransactionSql, tokenAddress: string, count: number): Promise<void> {
  const buyer = `${SEEDED}-${crypto.randomUUID()}`;
  const writer = crypto.randomUUID();
  // The input of each purchase, as idempotency.ts hashes it (resolvers/core/idempotency.ts).
  const asked = [
    ['amountCO2e', 'bigint', '1'],
    ['buyerId', 'string', buyer],
    ['tokenAddress', 'string', tokenAddress],
  ];
  const inputHash = createHash('sha256').update(JSON.stringify(asked)).digest('hex');
  await tx`
    CREATE TEMPORARY TABLE seeded ON COMMIT DROP AS
    SELECT n, uuidv7() AS purchase_id, now() - (${count} - n) * interval '10 milliseconds' AS at
    FROM generate_series(1, ${count}::int) AS n`;
  const [sides] = await tx`
    WITH project AS (SELECT id FROM projects WHERE token_address = ${tokenAddress}),
      opened AS (INSERT INTO accounts (project_id, kind, owner_id, balance_tonnes, version)
        SELECT id, 'buyer', ${buyer}, ${count}, ${count} FROM project RETURNING id)
    SELECT project.id AS project, opened.id AS buyer, a.id AS inventory, a.balance_tonnes, a.version
    FROM project, opened, accounts a WHERE a.project_id = project.id AND a.kind = 'inventory'`;
  if (!sides) throw new Error(`no project has the token ${tokenAddress}`);
  const { project, buyer: buyerAccount, inventory, balance_tonnes: balance, version } = sides;
  await tx`
    INSERT INTO transfers (id, project_id, kind, cause_id, amount_tonnes, created_at,
      debit_account_id, debit_version, debit_balance_tonnes, credit_account_id, credit_version, credit_balance_tonnes)
    SELECT purchase_id, ${project}, 'purchase', purchase_id, 1, at,
      ${inventory}::bigint, ${version}::bigint + n, ${balance}::bigint - n, ${buyerAccount}::bigint, n, n FROM seeded`;
  await tx`UPDATE accounts SET balance_tonnes = balance_tonnes - ${count}, version = version + ${count} WHERE id = ${inventory}`;
  await tx`
    INSERT INTO idempotency_keys (caller_subject, operation, key, input_hash, target_id)
    SELECT ${buyer}, 'purchase', purchase_id::text, ${inputHash}, purchase_id FROM seeded`;
  await tx`INSERT INTO audit_writers (id, started_at, program_version, entries) VALUES (${writer}, now(), 'seeded', ${count})`;
  await tx`
    INSERT INTO audit_entries (id, kind, writer_id, number, started_at, request_id, caller_subject, caller_roles, remote_address,
      field, outcome, ended_at, target_ids)
    SELECT uuidv7(), 'MUTATION', ${writer}, n, at, purchase_id::text, ${buyer}, '{buyer}', '127.0.0.1', 'purchase', 'OK', at,
      ARRAY[${buyer}, ${tokenAddress}, purchase_id::text] FROM seeded`;
}
