/**
 * Drizzle's view of the embedded network's schema, migrated apart from the platform's:
 * `npm run db:generate` writes its tables.
 */
import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'postgresql',
  schema: './src/ledger/network/embedded/tables.ts',
  out: './drizzle/embedded-network',
  migrations: { schema: 'drizzle', table: 'embedded_network_migrations' },
});
