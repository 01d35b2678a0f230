/**
 * Bearer tokens for the demo's roles, from the running configuration's development secret.
 */
import { loadConfig } from '../src/config/config.ts';
import { DEVELOPMENT_SUBJECTS, signDevelopmentToken } from '../src/startup/developmentTokens.ts';
import { hostInUrl } from '../src/lib/hosts.ts';
import type { Role } from '../src/identity/roles.ts';
import { StartupError } from '../src/lib/startupErrors.ts';

export type TokenFor = (role: Role, subject?: string) => Promise<string>;

/** @throws StartupError in production, where credits and payouts are real. */
export async function createTokenSource(): Promise<{ tokenFor: TokenFor; serverUrl: string }> {
  const config = await loadConfig();
  if (config.NODE_ENV === 'production') {
    throw new StartupError(
      'The demo issues credits of its own and pays out, so it never runs with NODE_ENV=production.',
    );
  }
  return {
    tokenFor: (role, subject = DEVELOPMENT_SUBJECTS[role]) => signDevelopmentToken(config, role, subject),
    serverUrl: `http://${hostInUrl(config.HOST)}:${config.PORT}/graphql`,
  };
}
