/** Maximum of AUTH_MAX_TOKEN_SECONDS, a year. A longer credential must be an API key, which can be listed. */
export const MAX_TOKEN_SECONDS = 31_536_000;
