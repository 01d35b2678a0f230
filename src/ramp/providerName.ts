/**
 * How a ramp provider is named in the sessions that were opened at it: "manual", or "http" and its address. Names are made and
 * read here alone; elsewhere they are only compared.
 */
export const MANUAL_PROVIDER = 'manual';
const HTTP = 'http ';

/** Another address is another provider: session ids are valid at one provider only. */
export function nameOfHttpProvider(base: string): string {
  const { host, pathname } = new URL(base);
  return `${HTTP}${host}${pathname}`.replace(/\/$/, '');
}

export function readProviderName(name: string): { kind: 'MANUAL' | 'HTTP'; address: string | null } {
  return name.startsWith(HTTP)
    ? { kind: 'HTTP', address: name.slice(HTTP.length) }
    : { kind: 'MANUAL', address: null };
}
