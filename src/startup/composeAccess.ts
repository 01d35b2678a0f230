/**
 * Composes access control: credentials, limits, and the audit log of mutations.
 */
import { createApiKeyVerifier, looksLikeApiKey } from '../identity/apiKeys.ts';
import { createAuditLog, type AuditLog } from '../identity/auditLog.ts';
import { createCredentialEnds, type CredentialEnds } from '../identity/credentialEnds.ts';
import { refuseRevoked } from '../identity/tokenRevocations.ts';
import {
  createTokenVerifier,
  type TokenKey,
  type TokenRules,
  type TokenVerifier,
} from '../identity/tokens.ts';
import type { Limits } from '../limits/limits.ts';
import { createRateLimits, type RateLimits } from '../limits/rateLimits.ts';
import type { Dependencies } from '../resolvers/core/dependencies.ts';

interface Access {
  /** Verifies tokens and API keys alike. */
  verifyToken: TokenVerifier;
  credentialEnds: CredentialEnds;
  rateLimits: RateLimits;
  audit: AuditLog;
  /** Writes the remaining entries, and closes everything but the database. */
  stop(): Promise<void>;
}

export function composeAccess(
  dependencies: Dependencies,
  auth: TokenKey & TokenRules,
  limits: Limits,
): Access {
  const { db, clock, log } = dependencies;
  const verifyJwt = refuseRevoked(
    createTokenVerifier({ ...auth, now: clock.now, log }),
    dependencies.tokenRevocations,
  );
  const verifyApiKey = createApiKeyVerifier(dependencies);
  const credentialEnds = createCredentialEnds(dependencies);
  const rateLimits = createRateLimits(limits, db, log);
  const audit = createAuditLog(dependencies);
  return {
    verifyToken: (bearer) => (looksLikeApiKey(bearer) ? verifyApiKey(bearer) : verifyJwt(bearer)),
    credentialEnds,
    rateLimits,
    audit,
    async stop() {
      credentialEnds.stop();
      await Promise.all([rateLimits.stop(), audit.stop()]);
    },
  };
}
