/**
 * The GraphQL context: the data of the request that every resolver receives, on each transport.
 */
import type { AuditLog, OpenEntry } from '../../identity/auditLog.ts';
import type { Caller } from '../../identity/roles.ts';
import type { Dependencies } from '../../resolvers/core/dependencies.ts';

export interface Context<Deps = Dependencies> {
  /** Null for a caller without credentials. */
  caller: Caller | null;
  /** Names the request in logs and in masked errors. */
  requestId: string;
  /** The client's address: the socket's remote end, or the address that the trusted proxies report. */
  remoteAddress: string;
  /** Receives one entry for each mutation field, and for operators' reads of others' data. */
  audit: AuditLog;
  /**
   * The audit entry of the running mutation field, when its effect's transaction writes it (recordedInput's
   * isEntryWithEffect). Fields of a mutation run one after the other.
   */
  entry?: OpenEntry;
  /**
   * The same entry, from before any check. It is data instead of a callback, because V8 keeps the function
   * that a call site has called last, and with it all objects of the request, past the request's end.
   */
  audited?: { entry: OpenEntry; isAdmitted: boolean };
  dependencies: Deps;
}
