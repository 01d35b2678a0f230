/**
 * What a transport knows about an operation before it is parsed, and what is found out on its way.
 */
import type { Caller } from '../identity/roles.ts';
import type { Usage } from '../limits/sharedBudget.ts';

export interface TransportContext {
  requestId: string;
  remoteAddress: string;
  transport: 'http' | 'websocket';
  /** Undefined until the gate has looked at the credential. */
  caller?: Caller | null;
  /** What was taken from which budget; the RateLimit headers tell it. */
  usages: Usage[];
  /** What the operation's one line in the log says. */
  trace: OperationTrace;
}

export interface OperationTrace {
  startedAtMs: number;
  isLogged: boolean;
  cost?: number;
}

export function newContext(about: {
  requestId: string;
  remoteAddress: string;
  transport: TransportContext['transport'];
  caller?: Caller | null;
  startedAt: Date;
}): TransportContext {
  const { startedAt, ...rest } = about;
  return { ...rest, usages: [], trace: { startedAtMs: startedAt.getTime(), isLogged: false } };
}
