/** The environment variable with which vitest.config.ts makes one project of all that needs PostgreSQL. */
export const WHOLE_RUN = 'TEST_WHOLE_RUN';
