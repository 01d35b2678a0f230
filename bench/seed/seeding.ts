/**
 * Writes rows at scale with statements over whole sets. Triggers and foreign keys are off during the writes,
 * because row by row they would take longer than the measured work. The reconciliation at the end of the run
 * proves that the rows obey the rules all the same.
 */
import type postgres from 'postgres';

/**
 * Postpones the product's own reconciliation. It runs every five minutes, so it would fall into some turns of
 * three seconds and not into others, and into rows of other databases. The row `reconcile` shows its cost,
 * and the data of the run is reconciled at its end.
 */
export async function postponeReconciliation(sql: postgres.Sql): Promise<void> {
  await sql`UPDATE reconciliation_schedule SET due_at = now() + interval '1 hour', full_due_at = now() + interval '1 hour'`;
}

/** @param transactions how often `work` is called, each time in its own transaction */
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
