/**
 * Authentication and rate limits, the same for requests, event streams and websockets.
 */
import type { Plugin } from 'graphql-yoga';
import { DomainError } from '../../lib/errors.ts';
import { callerOfAuthorization } from '../../identity/bearer.ts';
import type { Caller } from '../../identity/roles.ts';
import type { TokenVerifier } from '../../identity/tokens.ts';
import { rateLimitHeaders, type RateLimits } from '../../limits/rateLimits.ts';
import type { Usage } from '../../limits/sharedBudget.ts';
import type { TransportContext } from '../graphql/transportContext.ts';

export interface Gate extends Pick<RateLimits, 'admitAddress' | 'admitDelivery' | 'noteRefusedDelivery'> {
  /**
   * The caller behind an authorization; null for the public.
   * @throws DomainError UNAUTHENTICATED, OVERLOADED, RATE_LIMITED
   */
  identify(authorization: unknown, remoteAddress: string): Promise<Caller | null>;
  /** Counts one operation of a caller. @throws DomainError RATE_LIMITED */
  admit(caller: Caller | null, usages: Usage[]): Promise<void>;
  /**
   * Counts one request, and finds its caller for the context. @throws the errors of `admitAddress`,
   * `identify` and `admit`
   */
  enter(authorization: unknown, context: Entering): Promise<void>;
}

type Entering = Pick<TransportContext, 'remoteAddress' | 'usages' | 'caller'>;

export function createGate(limits: RateLimits, verifyToken: TokenVerifier): Gate {
  const { admitAddress, admitDelivery, noteRefusedDelivery } = limits;
  const identify = async (authorization: unknown, remoteAddress: string) => {
    if (authorization == null) return null;
    await limits.admitCredential(remoteAddress);
    try {
      return await callerOfAuthorization(authorization, verifyToken);
    } catch (error) {
      // An unavailable identity provider is not counted against the address.
      if (error instanceof DomainError && error.code === 'UNAUTHENTICATED')
        await limits.noteRefusedCredential(remoteAddress);
      throw error;
    }
  };
  const admit = async (caller: Caller | null, usages: Usage[]) => {
    if (caller !== null) await limits.admitCaller(caller, usages);
  };
  return {
    admitAddress,
    admitDelivery,
    noteRefusedDelivery,
    identify,
    admit,
    async enter(authorization, context) {
      await admitAddress(context.remoteAddress, context.usages);
      // The public, who send most requests, wait for nothing more.
      context.caller = authorization == null ? null : await identify(authorization, context.remoteAddress);
      if (context.caller !== null) await admit(context.caller, context.usages);
    },
  };
}

/**
 * The gate for HTTP and SSE: before the body is read as GraphQL, unless directPost.ts has called the gate
 * already.
 */
export function useGate(gate: Gate): Plugin<object, TransportContext> {
  return {
    async onRequestParse({ request, serverContext }) {
      const { caller, refusal } = serverContext;
      if (refusal !== undefined) throw refusal.error;
      if (caller !== undefined) return;
      await gate.enter(request.headers.get('authorization'), serverContext);
    },
    onResponse({ response, serverContext }) {
      for (const [name, value] of Object.entries(rateLimitHeaders(serverContext.usages))) {
        response.headers.set(name, value);
      }
    },
  };
}
