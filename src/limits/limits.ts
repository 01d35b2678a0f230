/**
 * The limits on callers and addresses, by the names of their settings.
 */
import { LIMIT_SETTINGS } from '../config/limitSettings.ts';
import { SETTINGS } from '../config/settings.ts';
import type { Config } from '../config/config.ts';

const LIMITS = { TRUSTED_PROXY_HOPS: SETTINGS.TRUSTED_PROXY_HOPS, ...LIMIT_SETTINGS };

export type Limits = Pick<Config, keyof typeof LIMITS>;

/** The limits of a server without configuration. */
export function defaultLimits(): Limits {
  const defaults = Object.entries(LIMITS).map(([name, setting]) => [
    name,
    setting.schema.parse(setting.default),
  ]);
  return Object.fromEntries(defaults) as Limits;
}
