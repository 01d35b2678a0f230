/**
 * The messages between the benchmark and its load process.
 */
export interface HttpJob {
  port: number;
  path: string;
  connections: number;
  /** Requests start for this long. Those under way at the end are awaited for `drainSeconds` at most. */
  seconds: number;
  drainSeconds: number;
  /** Maximum number of requests that are started. */
  maxRequests?: number;
  /** Connection i sends the requests of client i, modulo their number. */
  clients: readonly HttpClient[];
  /** An answer without this text is a failure. */
  expect: string;
}

export interface HttpClient {
  headers: Readonly<Record<string, string>>;
  /** Sent one after the other. `$KEY` in a body is replaced by a unique text of 24 characters. */
  bodies: readonly string[];
}

export interface HttpResult {
  perSecond: number;
  answered: number;
  failed: number;
  /** The body of the first failed response. */
  failure: string | null;
  p50Ms: number;
  p99Ms: number;
}

export interface FeedJob {
  port: number;
  path: string;
  sockets: number;
  /** Null for a socket that receives events without a subscription. */
  subscription: { protocol: string; init: string; subscribe: string } | null;
}

/** Arrival of one event at all sockets, in milliseconds since 1970. */
export interface FeedArrival {
  firstMs: number;
  lastMs: number;
}

export interface LoadCalls {
  http: { input: HttpJob; output: HttpResult };
  /** Opens sockets in addition to the open ones; resolves when every one is subscribed. */
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
