/**
 * The address that a server listens on, as programs of the same machine write it into a URL.
 */
export function hostInUrl(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
