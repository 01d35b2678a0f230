/**
 * What a transport knows about an operation before it is parsed, and what later steps add.
 */
import type { GraphQLError } from 'graphql';
import type { Caller } from '../../identity/roles.ts';
import type { Usage } from '../../limits/sharedBudget.ts';
import type { NamedDocument } from '../documents/documentSource.ts';

export interface TransportContext {
  requestId: string;
  /** The request id that the client has sent, for the log. */
  clientRequestId?: string | undefined;
  remoteAddress: string;
  transport: 'http' | 'websocket';
  /** Undefined until the gate has verified the credential. */
  caller?: Caller | null | undefined;
  /** Why the gate has refused the request, if directPost.ts has called the gate already. */
  refusal?: { error: unknown };
  /** The usage of each rate limit, for the RateLimit headers. */
  usages: Usage[];
  /** The document that the operation runs, once it is known. */
  document?: NamedDocument;
  /** What is wrong with the document, once yoga has had it checked. */
  problems?: readonly GraphQLError[];
  /** Calls back when the answer has left the process, or never will. */
  whenSent: (callback: () => void) => void;
  /** The fields of the operation's log line. */
  trace: OperationTrace;
}

interface OperationTrace {
  /**
   * Read from performance.now(). By the machine's clock, which may be set meanwhile, an operation could last
   * hours or less than nothing.
   */
  startedAtMs: number;
  isLogged: boolean;
  cost: number | undefined;
}

/** What a transport knows at first; later steps add the rest. */
type Known = 'requestId' | 'clientRequestId' | 'remoteAddress' | 'transport' | 'caller' | 'whenSent';

export function newContext(about: Pick<TransportContext, Known>): TransportContext {
  const { requestId, clientRequestId, remoteAddress, transport, caller, whenSent } = about;
  const trace = { startedAtMs: performance.now(), isLogged: false, cost: undefined };
  return { requestId, clientRequestId, remoteAddress, transport, caller, usages: [], whenSent, trace };
}
