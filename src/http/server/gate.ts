/**
 * Authentication and rate limits, the same for requests, event streams and websockets.
 */
import type { Plugin } from 'graphql-yoga';
import { DomainError } from '../../lib/errors.ts';
import { callerOfAuthorization } from '../../identity/bearer.ts';
import type { Caller } from '../../identity/roles.ts';
import type { TokenVerifier } from '../../identity/tokens.ts';
import { rateLimitHeaders } from '../../limits/rateLimits.ts';
import type { RateLimits } from '../../limits/rateLimits.ts';
import type { Usage } from '../../limits/sharedBudget.ts';
import type { TransportContext } from '../graphql/transportContext.ts';

export interface Gate extends Pick<RateLimits, 'admitAddress' | 'admitDelivery' | 'noteRefusedDelivery'> {
  /** The caller behind an authorization; null for the public. @throws DomainError UNAUTHENTICATED, OVERLOADED, RATE_LIMITED */
  identify(authorization: unknown, remoteAddress: string): Promise<Caller | null>;
  /** Counts one operation of a caller. @throws DomainError RATE_LIMITED */
  admit(caller: Caller | null, usages: Usage[]): Promise<void>;
}

export function createGate(limits: RateLimits, verifyToken: TokenVerifier): Gate {
  const { admitAddress, admitDelivery, noteRefusedDelivery } = limits;
  return {
    admitAddress,
    admitDelivery,
    noteRefusedDelivery,
    async identify(authorization, remoteAddress) {
      if (authorization === undefined || authorization === null) return null;
      await limits.admitCredential(remoteAddress);
      try {
        return await callerOfAuthorization(authorization, verifyToken);
      } catch (error) {
        // That the identity provider is away is no fault of an address.
        if (error instanceof DomainError && error.code === 'UNAUTHENTICATED')
          await limits.noteRefusedCredential(remoteAddress);
        throw error;
      }
    },
    async admit(caller, usages) {
      if (caller !== null) await limits.admitCaller(caller, usages);
    },
  };
}

/** The gate for HTTP and SSE: before the body is read as GraphQL, unless directPost.ts has asked it. */
export function useGate(gate: Gate): Plugin<object, TransportContext> {
  return {
    async onRequestParse({ request, serverContext }) {
      const { remoteAddress, usages, refusal } = serverContext;
      if (refusal !== undefined) throw refusal.error;
      if (serverContext.caller !== undefined) return;
      await gate.admitAddress(remoteAddress, usages);
      serverContext.caller = await gate.identify(request.headers.get('authorization'), remoteAddress);
      await gate.admit(serverContext.caller, usages);
    },
    onResponse({ response, serverContext }) {
      for (const [name, value] of Object.entries(rateLimitHeaders(serverContext.usages ?? []))) {
        response.headers.set(name, value);
      }
    },
  };
}
