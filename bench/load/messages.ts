/**
 * What the benchmark and its load process say to each other.
 */
export interface HttpJob {
  port: number;
  path: string;
  connections: number;
  /** How long requests are begun; those under way are awaited after it, for `drainSeconds` at most. */
  seconds: number;
  drainSeconds: number;
  /** No more than these are begun. */
  maxRequests?: number;
  /** Connection i sends by client i (modulo their number). */
  clients: readonly HttpClient[];
  /** An answer without this text is a failure. */
  expect: string;
}

export interface HttpClient {
  headers: Readonly<Record<string, string>>;
  /** Sent one after the other. `$KEY` in one becomes a text of 24 characters that is never the same. */
  bodies: readonly string[];
}

export interface HttpResult {
  perSecond: number;
  answered: number;
  failed: number;
  /** The first answer that was a failure. */
  failure: string | null;
  p50Ms: number;
  p99Ms: number;
}

export interface FeedJob {
  port: number;
  path: string;
  sockets: number;
  /** Null for a socket that is sent events without asking. */
  subscription: { protocol: string; init: string; subscribe: string } | null;
}

/** Of one event at all sockets; milliseconds since 1970. */
export interface FeedArrival {
  firstMs: number;
  lastMs: number;
}

export interface LoadCalls {
  http: { input: HttpJob; output: HttpResult };
  /** Opens sockets, beside those that are open; resolves when every one is subscribed. */
  openFeed: { input: FeedJob; output: { openedMs: number } };
  /** Resolves when every socket has received `events` since the last call. */
  awaitFeed: { input: { events: number }; output: { arrivals: FeedArrival[] } };
  closeFeed: { input: Record<string, never>; output: { closed: number } };
}

export type LoadMethod = keyof LoadCalls;

export interface LoadRequest {
  id: number;
  method: LoadMethod;
  input: LoadCalls[LoadMethod]['input'];
}

export type LoadAnswer = { id: number; output: unknown } | { id: number; error: string };
