/**
 * Tells by its host name whether a URL leads to this machine, into a private network, or over public networks, where
 * clear text can be read and changed.
 */
import { isIP, isIPv4, isIPv6 } from 'node:net';

/** Suffixes that public DNS never resolves. */
const PRIVATE_SUFFIXES = ['.local', '.internal', '.localhost', '.svc', '.lan', '.home.arpa'];

/** Whether an address or host is reachable from this machine alone. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Where machines of clouds keep their credentials, and where no service of another machine is meant to be. */
export function isLinkLocal(host: string): boolean {
  return isIPv4(host) ? host.startsWith('169.254.') : isIPv6(host) && /^fe[89ab]|^::ffff:a9fe:/i.test(host);
}

export function leadsToThisMachine(url: string): boolean {
  return isLoopback(hostOf(url));
}

export function staysPrivate(url: string): boolean {
  const host = hostOf(url);
  if (isLoopback(host)) return true;
  if (isIP(host) !== 0) return isPrivateAddress(host);
  return !host.includes('.') || PRIVATE_SUFFIXES.some((suffix) => host.endsWith(suffix));
}

/** Whether an IP address is of this machine or a private network; false of every other text. */
export function isPrivateAddress(address: string): boolean {
  // How a socket that listens on IPv6 shows an IPv4 address.
  const plain = address.replace(/^::ffff:(?=[\d.]+$)/i, '');
  if (isIPv4(plain)) return isLoopback(plain) || /^(10|192\.168|172\.(1[6-9]|2\d|3[01]))\./.test(plain);
  // Unique local and link-local addresses.
  return isIPv6(plain) && (isLoopback(plain) || /^(f[cd]|fe[89ab])/i.test(plain));
}

/** The host name or address in a URL, without the brackets of IPv6. */
export function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '');
}
