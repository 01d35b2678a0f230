/**
 * The client's address: the socket's remote address, or the one that trusted proxies report.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { ownText } from '../lib/ownText.ts';

/**
 * @param trustedProxyHops number of proxies in front, each of which appends its client's address to
 * X-Forwarded-For. Entries further left come from the client and are ignored.
 */
export function clientAddressOf(request: IncomingMessage, trustedProxyHops: number): string {
  const socketAddress = request.socket.remoteAddress ?? 'unknown';
  if (trustedProxyHops === 0) return socketAddress;
  const forwarded = [request.headers['x-forwarded-for'] ?? []]
    .flat()
    .flatMap((value) => value.split(','))
    .map((value) => value.trim());
  const address = withoutPort(forwarded.at(-trustedProxyHops) ?? '');
  return isIP(address) === 0 ? socketAddress : ownText(address);
}

/** Some proxies write the client's port as well: "192.0.2.1:4711", "[2001:db8::1]:4711". */
function withoutPort(text: string): string {
  const bracketed = /^\[(.+)\](?::\d+)?$/.exec(text)?.[1];
  if (bracketed !== undefined) return bracketed;
  return /^[\d.]+:\d+$/.test(text) ? text.replace(/:\d+$/, '') : text;
}
