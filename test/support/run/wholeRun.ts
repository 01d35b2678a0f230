/** The environment variable with which vitest.config.ts makes one project of nearly all. */
export const WHOLE_RUN = 'TEST_WHOLE_RUN';
