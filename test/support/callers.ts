/**
 * Callers as the product sees them once their token is verified.
 */
import type { Caller, Role } from '../../src/identity/roles.ts';

/** @param expiresAt in Unix seconds; use cases do not look at it */
export function callerOf(subject: string, role: Role, expiresAt = 0): Caller {
  return { subject, roles: [role], warehouseIds: [], expiresAt, apiKeyId: null, jti: null, issuedAt: null };
}
