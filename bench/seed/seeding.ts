/**
 * Rows at scale, by statements over whole sets. Triggers and foreign keys are off while they are written, because row by
 * row they would take longer than what is measured; the reconciliation at the end of the run proves that the rows obey
 * the rules all the same.
 */
import type postgres from 'postgres';

export async function seed(
  sql: postgres.Sql,
  work: (tx: postgres.TransactionSql) => Promise<void>,
): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`SET LOCAL session_replication_role = replica`;
    await work(tx);
  });
  await sql`VACUUM ANALYZE`;
}
