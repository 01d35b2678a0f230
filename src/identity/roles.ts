/**
 * Who calls: the roles a token can carry, and what the rest of the product knows about a caller.
 */

/**
 * admin      everything, including what only an administrator may do
 * operator   runs the platform: sees all, registers webhooks, resolves reviews
 * developer  submits projects
 * buyer      buys and retires under the buyerId that equals the token's subject
 * warehouse  confirms deposits
 * farmer     cashes out receipts
 */
export const ROLES = ['admin', 'operator', 'developer', 'buyer', 'warehouse', 'farmer'] as const;

export type Role = (typeof ROLES)[number];

/** A verified bearer token, reduced to what decisions need. Never the token itself. */
export interface Caller {
  /** The token's `sub`; for a buyer this is the buyerId. */
  subject: string;
  roles: readonly Role[];
  /** Unix seconds; sockets and streams opened with the token end at this moment. */
  expiresAt: number;
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
