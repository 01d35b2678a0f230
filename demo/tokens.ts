/**
 * Bearer tokens for the demo's people, from the running configuration's development secret.
 */
import { loadConfig } from '../src/config.ts';
import { DEVELOPMENT_SUBJECTS, signDevelopmentToken } from '../src/developmentTokens.ts';
import type { Role } from '../src/identity/roles.ts';

export type TokenFor = (role: Role, subject?: string) => Promise<string>;

export async function createTokenSource(): Promise<{ tokenFor: TokenFor; serverUrl: string }> {
  const config = await loadConfig();
  return {
    tokenFor: (role, subject = DEVELOPMENT_SUBJECTS[role]) => signDevelopmentToken(config, role, subject),
    serverUrl: `http://${config.HOST === '0.0.0.0' ? 'localhost' : config.HOST}:${config.PORT}/graphql`,
  };
}
