/**
 * How the tests run: one PostgreSQL for the whole run, a database cloned from a template for each file.
 */
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  // Vite would take graphql's ES modules where Node takes its CommonJS, and two copies don't know each other's errors.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/harness/globalSetup.ts'],
    pool: 'forks',
    // Most tests wait for servers, nodes and processes of their own, so they need more workers than cores.
    maxWorkers: availableParallelism() + 1,
    // Real servers and processes start inside tests: slow machines need room, hangs still end.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
