/**
 * How the tests run: one PostgreSQL for the whole run, a database cloned from a template for each file.
 */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/harness/globalSetup.ts'],
    pool: 'forks',
    // Real servers and processes start inside tests: slow machines need room, hangs still end.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
