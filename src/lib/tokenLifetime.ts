/** What AUTH_MAX_TOKEN_SECONDS may be at most, a year: what has to live longer is an API key, which can be listed. */
export const MAX_TOKEN_SECONDS = 31_536_000;
