/**
 * The way in, the same for requests, event streams and websockets: who calls, and whether they may ask now.
 */
import type { Plugin } from 'graphql-yoga';
import { DomainError } from '../errors.ts';
import { callerOfAuthorization } from '../identity/bearer.ts';
import type { Caller } from '../identity/roles.ts';
import type { TokenVerifier } from '../identity/tokens.ts';
import { rateLimitHeaders } from '../limits/rateLimits.ts';
import type { RateLimits } from '../limits/rateLimits.ts';
import type { Usage } from '../limits/sharedBudget.ts';
import type { TransportContext } from './transportContext.ts';

export interface Gate {
  /** Counts one request or socket of an address. @throws DomainError RATE_LIMITED */
  knock(remoteAddress: string, usages: Usage[]): Promise<void>;
  /** The caller behind an authorization; null for the public. @throws DomainError UNAUTHENTICATED, RATE_LIMITED */
  identify(authorization: unknown, remoteAddress: string): Promise<Caller | null>;
  /** Counts one operation of a caller. @throws DomainError RATE_LIMITED */
  admit(caller: Caller | null, usages: Usage[]): Promise<void>;
}

export function createGate(limits: RateLimits, verifyToken: TokenVerifier): Gate {
  return {
    knock: (remoteAddress, usages) => limits.admitAddress(remoteAddress, usages),
    async identify(authorization, remoteAddress) {
      if (authorization === undefined || authorization === null) return null;
      await limits.admitCredential(remoteAddress);
      try {
        return await callerOfAuthorization(authorization, verifyToken);
      } catch (error) {
        if (error instanceof DomainError) await limits.noteFailedLogin(remoteAddress);
        throw error;
      }
    },
    async admit(caller, usages) {
      if (caller !== null) await limits.admitCaller(caller, usages);
    },
  };
}

/** The gate for HTTP and SSE: before the body is read as GraphQL. */
export function useGate(gate: Gate): Plugin<object, TransportContext> {
  return {
    async onRequestParse({ request, serverContext }) {
      const { remoteAddress, usages } = serverContext;
      await gate.knock(remoteAddress, usages);
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
