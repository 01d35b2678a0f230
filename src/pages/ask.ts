/**
 * Questions of the pages to the GraphQL API, as the public.
 */
import type { ExecutionResult } from 'graphql';
import { DomainError, type ErrorCode, type ErrorDetails } from '../lib/errors.ts';

export type Ask = (source: string, variables?: Record<string, unknown>) => Promise<ExecutionResult>;

/** @throws DomainError with the code of the first error, for the page that shows the error */
export async function askFor<Data>(
  ask: Ask,
  source: string,
  variables?: Record<string, unknown>,
): Promise<Data> {
  const { data, errors } = await ask(source, variables);
  const [error] = errors ?? [];
  if (error === undefined) return data as Data;
  const { code, retryAfterSeconds } = error.extensions;
  const details: ErrorDetails = typeof retryAfterSeconds === 'number' ? { retryAfterSeconds } : {};
  throw new DomainError((code ?? 'INTERNAL_SERVER_ERROR') as ErrorCode, error.message, details);
}

/** The answer, or null when a text from an address or a form breaks a rule of the API. */
export async function askOrNull<Data>(
  ask: Ask,
  source: string,
  variables?: Record<string, unknown>,
): Promise<Data | null> {
  try {
    return await askFor<Data>(ask, source, variables);
  } catch (error) {
    if (error instanceof DomainError && error.code === 'BAD_USER_INPUT') return null;
    throw error;
  }
}
