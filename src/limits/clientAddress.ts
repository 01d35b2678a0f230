/**
 * Where a request came from: the socket's other end, or what the trusted proxies in front say about it.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

/**
 * @param trustedProxyHops how many proxies stand in front, each of which appends to X-Forwarded-For whom it
 * was called by. What stands further left was written by the client, and says nothing.
 */
export function clientAddressOf(request: IncomingMessage, trustedProxyHops: number): string {
  const socketAddress = request.socket.remoteAddress ?? 'unknown';
  if (trustedProxyHops === 0) return socketAddress;
  const forwarded = [request.headers['x-forwarded-for'] ?? []]
    .flat()
    .flatMap((value) => value.split(','))
    .map((value) => value.trim());
  const address = forwarded.at(-trustedProxyHops) ?? '';
  return isIP(address) === 0 ? socketAddress : address;
}
