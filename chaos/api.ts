/**
 * The API as the laboratory's clients call it: at any server, with a timeout, under one key until answered.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Role } from '../src/identity/roles.ts';
import type { Lab } from './lab.ts';
import type { Random } from './schedule.ts';

export interface Caller {
  role: Role;
  subject: string;
  /** In place of a token that the laboratory signs. */
  token?: string;
}

export type Reply<T> = { data: T } | { refused: string };

export interface Api {
  /** One try. @throws when the outcome is unknown */
  once<T>(query: string, variables: Record<string, unknown>, caller: Caller | null): Promise<Reply<T>>;
  /** Repeats the request until it is answered, or `isOver`: null then. Without `isOver`, it never gives up. */
  untilAnswered<T>(
    query: string,
    variables: Record<string, unknown>,
    caller: Caller | null,
    isOver?: () => boolean,
  ): Promise<Reply<T> | null>;
  /** The number of tries without an answer. */
  readonly failedTries: number;
  /** Codes and messages of the errors that the product calls its own defects. */
  defects: Set<string>;
}

/** The codes after which docs/errors.md tells clients to try again; all other codes are answers. */
const RETRYABLE: readonly string[] = [
  'OVERLOADED',
  'DATABASE_UNAVAILABLE',
  'LEDGER_UNAVAILABLE',
  'RAMP_UNAVAILABLE',
  'INDEXER_UNAVAILABLE',
  'RATE_LIMITED',
  'INTERNAL_SERVER_ERROR',
];
const TIMEOUT_MS = 15_000;
const RETRY_MS = 150;

interface Answer<T> {
  data?: T | null;
  errors?: { message: string; extensions?: { code?: string } }[];
}

export function createApi(lab: Lab, random: Random): Api {
  const tokens = new Map<string, Promise<string>>();
  let failedTries = 0;
  const defects = new Set<string>();

  const tokenOf = ({ role, subject, token: own }: Caller) => {
    if (own !== undefined) return own;
    const key = `${role} ${subject}`;
    const token = tokens.get(key) ?? lab.bearer(role, subject);
    tokens.set(key, token);
    return token;
  };

  const api: Api = {
    defects,
    get failedTries() {
      return failedTries;
    },
    async once<T>(
      query: string,
      variables: Record<string, unknown>,
      caller: Caller | null,
    ): Promise<Reply<T>> {
      const response = await fetch(`${random.pick(lab.slots).url}/graphql`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(caller && { authorization: `Bearer ${await tokenOf(caller)}` }),
        },
        body: JSON.stringify({ query, variables }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      const { data, errors } = (await response.json()) as Answer<T>;
      const [error] = errors ?? [];
      if (error === undefined && data != null) return { data };
      const code = error?.extensions?.code ?? String(response.status);
      if (code === 'INTERNAL_SERVER_ERROR') defects.add(error?.message ?? code);
      if (RETRYABLE.includes(code)) throw new Error(code);
      return { refused: `${code}: ${error?.message ?? 'no data'}` };
    },
    async untilAnswered<T>(
      query: string,
      variables: Record<string, unknown>,
      caller: Caller | null,
      isOver = () => false,
    ) {
      for (;;) {
        try {
          return await api.once<T>(query, variables, caller);
        } catch {
          failedTries++;
          if (isOver()) return null;
          await delay(RETRY_MS);
        }
      }
    },
  };
  return api;
}
