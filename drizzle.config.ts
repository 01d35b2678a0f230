/**
 * Drizzle's view of the platform's schema: `npm run db:generate` writes the next migration from it.
 */
import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'postgresql',
  schema: './src/db/schema/index.ts',
  out: './drizzle/platform',
  migrations: { schema: 'drizzle', table: 'platform_migrations' },
});
