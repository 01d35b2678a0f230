/** The environment variable that makes vitest.config.ts put nearly all files into one project. */
export const WHOLE_RUN = 'TEST_WHOLE_RUN';
