/**
 * Which failure of a transaction is thrown.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

it('is the first one, though the failure of a statement behind it is seen earlier', async () => {
  const work = database.handle.db.transaction(async (tx) => {
    const dividing = tx.execute(sql`SELECT 1 / 0`).catch(async (error: unknown) => {
      await delay(10);
      throw error;
    });
    await Promise.all([dividing, tx.execute(sql`SELECT 1`)]);
  });
  await expect(work).rejects.toThrow('division by zero');
});
