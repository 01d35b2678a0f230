/**
 * Rows at scale, by statements over whole sets. Triggers and foreign keys are off while they are written, because row by
 * row they would take longer than what is measured; the reconciliation at the end of the run proves that the rows obey
 * the rules all the same.
 */
import type postgres from 'postgres';

/**
 * The product's own reconciliation, every five minutes, would fall into one turn of three seconds and not into another, and into rows of
 * other databases. The row `reconcile` says what it costs, and what the run leaves behind is reconciled at its end.
 */
export async function postponeReconciliation(sql: postgres.Sql): Promise<void> {
  await sql`UPDATE reconciliation_schedule SET due_at = now() + interval '1 hour', full_due_at = now() + interval '1 hour'`;
}

/** @param transactions how often `work` is done, each time in a transaction of its own */
export async function seed(
  sql: postgres.Sql,
  work: (tx: postgres.TransactionSql, transaction: number) => Promise<void>,
  transactions = 1,
): Promise<void> {
  for (let transaction = 0; transaction < transactions; transaction++) {
    await sql.begin(async (tx) => {
      await tx`SET LOCAL session_replication_role = replica`;
      await work(tx, transaction);
    });
  }
  await sql`VACUUM ANALYZE`;
}
