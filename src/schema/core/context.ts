/**
 * The GraphQL context: what every resolver receives about its request, on each transport.
 */
import type { AuditLog, OpenEntry } from '../../identity/auditLog.ts';
import type { Caller } from '../../identity/roles.ts';
import type { Dependencies } from '../../resolvers/core/dependencies.ts';

export interface Context<Deps = Dependencies> {
  /** Null for the public. */
  caller: Caller | null;
  /** Names the request in logs and in masked errors. */
  requestId: string;
  /** The client's address: the socket's other end, or what the trusted proxies say. */
  remoteAddress: string;
  /** Receives one entry for each mutation field. */
  audit: AuditLog;
  /**
   * Of the mutation field that runs, when its effect's transaction writes it (recordedInput's isEntryWithEffect). Fields of
   * a mutation run one after the other.
   */
  entry?: OpenEntry;
  /**
   * The same entry, from before anything is checked. Data and not a function that does the rest: V8 keeps the function that
   * a place in the code has called last, and with it all that belongs to the request, past the request's end.
   */
  audited?: { entry: OpenEntry; isAdmitted: boolean };
  dependencies: Deps;
}
