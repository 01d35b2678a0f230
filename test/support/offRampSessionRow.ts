import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import type { Db } from '../../src/db/connection.ts';
import { offRampSessions } from '../../src/db/tables/index.ts';

type Row = typeof offRampSessions.$inferInsert;

/** A row of a session that custody is about to deposit for; `values` override its columns. */
export function offRampSessionRow(values: Partial<Row> = {}): Row {
  const at = new Date();
  return {
    id: randomUUID(),
    state: 'OPENING',
    depositor: 'CUSTODY',
    receiptId: randomUUID(),
    tokenAddress: 'token',
    tokenAmountKg: 1n,
    requestedBy: 'farmer-1',
    depositorAddress: 'custody',
    settlementAddress: 'settlement',
    countryCode: 'KE',
    payoutAccountType: 'BANK',
    sealedPayoutAccount: 'sealed',
    maskedAccountNumber: '…456',
    fiatCurrency: 'KES',
    fiatAmount: '1',
    fiatFee: '0',
    feeBps: 0,
    exchangeRate: '1',
    quoteExpiresAt: at,
    providerName: 'manual',
    createdAt: at,
    ...values,
  };
}

/** Inserts no receipt. @returns the session's id */
export async function insertSessionAlone(db: Db, values: Partial<Row>): Promise<string> {
  const row = offRampSessionRow(values);
  await db.transaction(async (tx) => {
    // With foreign keys off, no receipt is needed.
    await tx.execute(sql`SET LOCAL session_replication_role = replica`);
    await tx.insert(offRampSessions).values(row);
  });
  return row.id;
}
