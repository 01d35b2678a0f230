/**
 * Callers: the roles of a token, and what the product knows about a caller.
 */

/** The rights of each role: docs/security.md. */
export const ROLES = ['admin', 'operator', 'developer', 'buyer', 'warehouse', 'farmer', 'lender'] as const;

export type Role = (typeof ROLES)[number];

/**
 * A verified credential (a bearer token or an API key), reduced to the facts that authorization needs. Never
 * the credential itself.
 */
export interface Caller {
  /** The token's `sub`, or the key's subject; for a buyer this is the buyerId, for a farmer the farmerId. */
  subject: string;
  roles: readonly Role[];
  /** The warehouses for which role warehouse may act: the token's `warehouseIds`, by default its subject. */
  warehouseIds: readonly string[];
  /** Unix seconds; sockets and streams opened with the credential end at this moment. */
  expiresAt: number;
  /** The API key that was sent; null for a token. */
  apiKeyId: string | null;
  /** The token's own name, if it has one; null for an API key. */
  jti: string | null;
  /** Unix seconds; null for a token that does not say so, and for an API key. */
  issuedAt: number | null;
}

/**
 * Subjects are keys in the books and appear in logs and audit entries, so only characters that can't be
 * confused, normalised or escaped differently are accepted. Covers e-mail addresses and the `provider|id`
 * form of identity providers.
 */
export const SUBJECT_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._:@|+-]{0,127}$/;
/** The pattern in words, for messages and the contract. */
export const SUBJECT_FORM = '1 to 128 letters, digits and . _ : @ | + -, beginning with a letter or digit';

export function isRole(value: unknown): value is Role {
  return (ROLES as readonly unknown[]).includes(value);
}
