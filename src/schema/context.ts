/**
 * What every resolver is given about the request it serves, whichever transport brought it.
 */
import type { Caller } from '../identity/roles.ts';

export interface Context<Dependencies> {
  /** Null for the public. */
  caller: Caller | null;
  /** Names the request in logs and in masked errors. */
  requestId: string;
  /** The peer's address as the socket has it. */
  remoteAddress: string;
  dependencies: Dependencies;
}
