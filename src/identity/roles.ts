/**
 * Who calls: the roles a token can carry, and what the rest of the product knows about a caller.
 */

/**
 * admin      everything, including what only an administrator may do
 * operator   runs the platform: sees all, registers webhooks, resolves reviews
 * developer  submits projects
 * buyer      buys and retires under the buyerId that equals the token's subject
 * warehouse  confirms deposits of its own warehouseIds
 * farmer     cashes out receipts that were deposited under the farmerId that equals the token's subject
 */
export const ROLES = ['admin', 'operator', 'developer', 'buyer', 'warehouse', 'farmer'] as const;

export type Role = (typeof ROLES)[number];

/** A verified credential (a bearer token or an API key), reduced to what decisions need. Never the credential itself. */
export interface Caller {
  /** The token's `sub`, or the key's subject; for a buyer this is the buyerId, for a farmer the farmerId. */
  subject: string;
  roles: readonly Role[];
  /** What role warehouse may act for: the token's `warehouseIds`, or its subject where it names none. */
  warehouseIds: readonly string[];
  /** Unix seconds; sockets and streams opened with the credential end at this moment. */
  expiresAt: number;
  /** The API key that was sent; null for a token. */
  apiKeyId: string | null;
}

/**
 * Subjects are keys in the books and appear in logs and audit entries, so only characters that can't be
 * confused, normalised or escaped differently are taken. Covers e-mail addresses and the `provider|id`
 * form of identity providers.
 */
export const SUBJECT_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._:@|+-]{0,127}$/;

export function isRole(value: unknown): value is Role {
  return (ROLES as readonly unknown[]).includes(value);
}
