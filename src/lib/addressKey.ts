/**
 * The key that identifies one client: an IPv4 address, or the /64 that an IPv6 client owns.
 */
import { isIPv4, isIPv6 } from 'node:net';

/** @param address as a socket shows it; a text that is no IP address is returned as it is */
export function addressKey(address: string): string {
  const plain = address.replace(/^::ffff:(?=[\d.]+$)/i, '');
  if (isIPv4(plain) || !isIPv6(plain)) return plain;
  return `${groupsOf(plain.replace(/%.*$/, '')).slice(0, 4).join(':')}::/64`;
}

/** Returns the network around a key's address: IPv4 /16, IPv6 /48; null when the key is no address. */
export function networkKey(key: string): string | null {
  if (isIPv4(key)) return `${key.split('.').slice(0, 2).join('.')}.0.0/16`;
  return key.endsWith('::/64') ? `${key.split(':').slice(0, 3).join(':')}::/48` : null;
}

/** The eight groups of an IPv6 address, without leading zeros. */
function groupsOf(address: string): string[] {
  const [head = '', tail] = address.toLowerCase().split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length;
  return [...before, ...Array<string>(zeros).fill('0'), ...after].map((group) =>
    group.replace(/^0+(?=.)/, ''),
  );
}
