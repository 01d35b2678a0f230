/**
 * The harness: test databases are clones of the migrated template and don't see each other.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';

let first: TestDatabase;
let second: TestDatabase;

beforeAll(async () => {
  [first, second] = await Promise.all([createTestDatabase(), createTestDatabase()]);
});
afterAll(async () => {
  await first.drop();
  await second.drop();
});

it('gives each file a migrated database of its own', async () => {
  await first.handle.sql`UPDATE feed_head SET position = 7`;
  const [mine] = await first.handle.sql`SELECT position FROM feed_head`;
  const [other] = await second.handle.sql`SELECT position FROM feed_head`;
  expect(mine?.position).toBe('7');
  expect(other?.position).toBe('0');
});
