/**
 * The minimum length of a shared secret, for settings and for signed tokens.
 */

/** An HS256 secret below 32 bytes is easier to guess than the hash is to break. */
export const MIN_SECRET_BYTES = 32;
