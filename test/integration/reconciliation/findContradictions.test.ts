/**
 * Two connections look for the database's contradictions, and see one moment.
 */
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findContradictions } from '../../../src/reconciliation/findContradictions.ts';
import type { Contradiction } from '../../../src/reconciliation/contradictions/contradiction.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';

let database: TestDatabase;

beforeAll(async () => {
  // Two connections are for transactions.
  database = await createTestDatabase({ poolSize: 3 });
});
afterAll(() => database.drop());

const asking = (query: string): Contradiction => ({ invariant: 'I1', query });

/** Slow enough for both connections to get some of them, and for a write in between. */
const SIX = Array.from({ length: 6 }, (_, number) =>
  asking(
    `SELECT concat_ws('|', ${number}, pg_backend_pid(), pg_current_snapshot()) AS message FROM pg_sleep(0.1)`,
  ),
);

async function askSix() {
  const findings = await findContradictions(database.handle.db, SIX);
  const parts = findings.map(({ message }) => message.split('|'));
  return {
    numbers: parts.map(([number]) => Number(number)),
    connections: new Set(parts.map(([, connection]) => connection)).size,
    moments: new Set(parts.map(([, , snapshot]) => snapshot)).size,
  };
}

it('is at one moment by both, in the order of the contradictions', async () => {
  await database.handle.db.execute(sql`CREATE TABLE written (n int)`);
  const writing = (async () => {
    // Each insert takes a transaction id that a later snapshot would show.
    for (let n = 0; n < 10; n++) await database.handle.sql.unsafe(`INSERT INTO written VALUES (${n})`);
  })();
  expect(await askSix()).toEqual({ numbers: [0, 1, 2, 3, 4, 5], connections: 2, moments: 1 });
  await writing;
});

it('is by one when no other is free, without waiting for it', async () => {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const holding = database.handle.db.transaction(async (tx) => {
    await tx.execute(sql`SELECT 1`);
    await ended;
  });
  try {
    expect(await askSix()).toEqual({ numbers: [0, 1, 2, 3, 4, 5], connections: 1, moments: 1 });
  } finally {
    end();
    await holding;
  }
});

it('fails with a query that fails, whichever asks it', async () => {
  const failing = asking('SELECT (1 / 0)::text AS message');
  for (const contradictions of [
    [failing, ...SIX],
    [...SIX, failing],
  ]) {
    await expect(findContradictions(database.handle.db, contradictions)).rejects.toThrow();
  }
});
