/**
 * Whether a request has come through a proxy: its socket's address then does not identify the client.
 */
import type { IncomingMessage } from 'node:http';

/**
 * Headers that proxies add. A proxy that adds none of them can't be distinguished from a client at its
 * address.
 */
const FORWARDING_HEADERS = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-server',
  'x-forwarded-port',
  'x-real-ip',
  'x-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
];

export function isForwarded({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return FORWARDING_HEADERS.some((name) => headers[name] !== undefined);
}
