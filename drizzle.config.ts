/**
 * Drizzle's view of the platform's schema: `npm run db:generate` writes its tables from it.
 */
import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'postgresql',
  schema: './src/db/tables/index.ts',
  out: './drizzle/platform',
  migrations: { schema: 'drizzle', table: 'platform_migrations' },
});
