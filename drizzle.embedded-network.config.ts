/**
 * Drizzle's view of the embedded network's schema, migrated apart from the platform's:
 * `npx drizzle-kit generate --config drizzle.embedded-network.config.ts` writes its next migration.
 */
import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'postgresql',
  schema: './src/ledger/network/embedded/tables.ts',
  out: './drizzle/embedded-network',
  migrations: { schema: 'drizzle', table: 'embedded_network_migrations' },
});
