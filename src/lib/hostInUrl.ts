/**
 * The host of a listening address as programs on the same machine write it in a URL.
 */
export function hostInUrl(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
