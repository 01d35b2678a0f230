/**
 * Finds a websocket's credential. Clients send it in `connection_init` itself, under its `headers` (as HTTP
 * clients are configured), in any letter case, or on the upgrade request (clients other than browsers).
 */
import { DomainError } from '../../lib/errors.ts';

/**
 * @param params the payload of `connection_init`
 * @param upgrade the Authorization header of the upgrade request
 * @returns the value of the authorization, or undefined when none was sent
 * @throws DomainError UNAUTHENTICATED when two values differ, or the payload's `headers` are no object
 */
export function socketCredentialOf(
  params: Readonly<Record<string, unknown>> | undefined,
  upgrade: string | undefined,
): unknown {
  const headers = valueOf(params, 'headers');
  if (headers !== undefined && (typeof headers !== 'object' || headers === null)) {
    throw new DomainError('UNAUTHENTICATED', 'The headers of connection_init must be an object.');
  }
  const inHeaders = valueOf(headers as Readonly<Record<string, unknown>> | undefined, 'authorization');
  const sent = [valueOf(params, 'authorization'), inHeaders, upgrade].filter((value) => value != null);
  if (new Set(sent).size > 1) {
    throw new DomainError(
      'UNAUTHENTICATED',
      'Two different credentials were sent for one websocket: send one.',
    );
  }
  return sent[0];
}

function valueOf(record: Readonly<Record<string, unknown>> | undefined, name: string): unknown {
  const key = Object.keys(record ?? {}).find((candidate) => candidate.toLowerCase() === name);
  return key === undefined ? undefined : record?.[key];
}
