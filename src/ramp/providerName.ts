/**
 * The names of ramp providers in the sessions that were opened at them: "manual", or "http" and the address.
 * Only this module makes and reads names; other modules only compare them.
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
