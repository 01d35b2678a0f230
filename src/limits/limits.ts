/**
 * The limits that are settings, in the form that the server takes. Their defaults: config/limitSettings.ts.
 */
import type { Config } from '../config/config.ts';
import { LIMIT_SETTINGS } from '../config/limitSettings.ts';
import { SETTINGS } from '../config/settings.ts';
import type { OperationLimits } from './operationCost.ts';
import type { RateLimitSettings } from './rateLimits.ts';

export interface Limits {
  /** Number of trusted proxies in front, which report the client's address. */
  trustedProxyHops: number;
  rates: RateLimitSettings;
  operations: OperationLimits;
  /** Connections of any kind, in all and from one address. */
  maxConnections: number;
  maxConnectionsPerAddress: number;
  maxSocketsPerAddress: number;
  maxSubscriptions: number;
  maxSubscriptionsPerAddress: number;
  maxQueriesInFlight: number;
  maxMutationsInFlight: number;
}

const TAKEN = { TRUSTED_PROXY_HOPS: SETTINGS.TRUSTED_PROXY_HOPS, ...LIMIT_SETTINGS };

type LimitConfig = Pick<Config, keyof typeof TAKEN>;

export function limitsOf(config: LimitConfig): Limits {
  return {
    trustedProxyHops: config.TRUSTED_PROXY_HOPS,
    rates: {
      addressPerMinute: config.RATE_LIMIT_ADDRESS_PER_MINUTE,
      callerPerMinute: config.RATE_LIMIT_CALLER_PER_MINUTE,
      mutationsPerMinute: config.RATE_LIMIT_MUTATIONS_PER_MINUTE,
      refusedCredentialsPerMinute: config.RATE_LIMIT_REFUSED_CREDENTIALS_PER_MINUTE,
      cpuPercentPerAddress: config.MAX_CPU_PERCENT_PER_ADDRESS,
    },
    operations: { maxCost: config.MAX_OPERATION_COST, maxDepth: config.MAX_OPERATION_DEPTH },
    maxConnections: config.MAX_CONNECTIONS,
    maxConnectionsPerAddress: config.MAX_CONNECTIONS_PER_ADDRESS,
    maxSocketsPerAddress: config.MAX_SOCKETS_PER_ADDRESS,
    maxSubscriptions: config.MAX_SUBSCRIPTIONS,
    maxSubscriptionsPerAddress: config.MAX_SUBSCRIPTIONS_PER_ADDRESS,
    maxQueriesInFlight: config.MAX_QUERIES_IN_FLIGHT,
    maxMutationsInFlight: config.MAX_MUTATIONS_IN_FLIGHT,
  };
}

/** The limits of a server without configuration. */
export function defaultLimits(): Limits {
  const defaults = Object.entries(TAKEN).map(([name, setting]) => [
    name,
    setting.schema.parse(setting.default),
  ]);
  return limitsOf(Object.fromEntries(defaults) as LimitConfig);
}
