/**
 * Hosts of URLs: whether a host is this machine, in a private network, or reached over public networks, where
 * clear text can be read and changed.
 */
import { isIP, isIPv4, isIPv6 } from 'node:net';

/** Suffixes that public DNS never resolves. */
const PRIVATE_SUFFIXES = ['.local', '.internal', '.localhost', '.svc', '.lan', '.home.arpa'];

/** Whether an address or host is reachable from this machine alone. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Names and other addresses of metadata services, in clouds that have them. */
const METADATA_HOSTS: ReadonlySet<string> = new Set([
  'metadata.google.internal',
  'instance-data.ec2.internal',
  '100.100.100.200',
  'fd00:ec2::254',
]);
/** 169.254.0.0/16 within an IPv6 address: mapped, compatible, by NAT64, by 6to4. */
const EMBEDDED_LINK_LOCAL = /^(::(ffff:)?|64:ff9b::|2002:)a9fe:/i;

/**
 * Whether the host is where machines of clouds get their credentials; no service of another machine belongs
 * there.
 * @param host in the form of a parsed URL, which has one spelling for each IPv4 address
 */
export function isLinkLocal(host: string): boolean {
  if (METADATA_HOSTS.has(host)) return true;
  if (isIPv4(host)) return host.startsWith('169.254.');
  return isIPv6(host) && (/^fe[89ab]/i.test(host) || EMBEDDED_LINK_LOCAL.test(host));
}

/** Whether the URL's host is a loopback name or address. @throws TypeError for a text that is no URL */
export function leadsToThisMachine(url: string): boolean {
  return isLoopback(hostOf(url));
}

/**
 * Whether requests to the URL stay in this machine or in a private network, by the host's address or name.
 * @throws TypeError for a text that is no URL
 */
export function staysPrivate(url: string): boolean {
  const host = hostOf(url);
  if (isLoopback(host)) return true;
  if (isIP(host) !== 0) return isPrivateAddress(host);
  return !host.includes('.') || PRIVATE_SUFFIXES.some((suffix) => host.endsWith(suffix));
}

/** Whether an IP address belongs to this machine or a private network; false for every other text. */
export function isPrivateAddress(address: string): boolean {
  // A socket that listens on IPv6 shows an IPv4 address with this prefix.
  const plain = address.replace(/^::ffff:(?=[\d.]+$)/i, '');
  if (isIPv4(plain)) return isLoopback(plain) || /^(10|192\.168|172\.(1[6-9]|2\d|3[01]))\./.test(plain);
  // Unique local and link-local addresses.
  return isIPv6(plain) && (isLoopback(plain) || /^(f[cd]|fe[89ab])/i.test(plain));
}

/** The host name or address in a URL, without the brackets of IPv6, and the dot that ends a whole name. */
export function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|[\].]$/g, '');
}

/** The host of a listening address as programs on the same machine write it in a URL. */
export function hostInUrl(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
