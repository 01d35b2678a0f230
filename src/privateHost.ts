/**
 * Where a URL leads to, by its host's name alone: to this machine, into a network of one's own, or through
 * everybody's. What goes through everybody's in clear text can be read and changed on the way.
 */
import { isIPv4, isIPv6 } from 'node:net';

/** Names that no public name server knows. */
const PRIVATE_SUFFIXES = ['.local', '.internal', '.localhost', '.svc', '.lan', '.home.arpa'];

/** Whether an address to listen on, or a host, is for this machine's own programs alone. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

export function leadsToThisMachine(url: string): boolean {
  return isLoopback(hostOf(url));
}

export function staysPrivate(url: string): boolean {
  const host = hostOf(url);
  if (isLoopback(host)) return true;
  if (isIPv4(host)) return /^(10|192\.168|172\.(1[6-9]|2\d|3[01]))\./.test(host);
  // Unique local and link-local addresses.
  if (isIPv6(host)) return /^(f[cd]|fe[89ab])/i.test(host);
  return !host.includes('.') || PRIVATE_SUFFIXES.some((suffix) => host.endsWith(suffix));
}

/** As `isIPv6` takes it: without brackets. */
function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '');
}
