/**
 * What every resolver is given about the request it serves, whichever transport brought it.
 */
import type { AuditTrail } from '../identity/auditTrail.ts';
import type { Caller } from '../identity/roles.ts';

export interface Context<Dependencies> {
  /** Null for the public. */
  caller: Caller | null;
  /** Names the request in logs and in masked errors. */
  requestId: string;
  /** The client's address: the socket's other end, or what the trusted proxies say. */
  remoteAddress: string;
  /** Where every mutation leaves an entry. */
  audit: AuditTrail;
  dependencies: Dependencies;
}
