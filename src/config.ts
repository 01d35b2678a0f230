/**
 * The only reader of the environment: checks every setting, and reports all that are wrong at once, by name.
 */
import { randomBytes } from 'node:crypto';
import dotenv from 'dotenv';
import type { z } from 'zod';
import { SETTINGS, type Setting, type SettingName } from './settings.ts';
import { loadSecrets } from './secrets.ts';
import { StartupError } from './startupErrors.ts';

type Values = { [Name in SettingName]: z.output<(typeof SETTINGS)[Name]['schema']> };

export interface Config extends Omit<
  Values,
  'PUBLIC_URL' | 'LEDGER_SECRET_KEY' | 'APP_SECRET' | 'AUTH_SECRET' | 'GRAPHIQL' | 'INTROSPECTION'
> {
  PUBLIC_URL: string;
  LEDGER_SECRET_KEY: string;
  APP_SECRET: string;
  /** Null when AUTH_JWKS_URL takes its place. */
  AUTH_SECRET: string | null;
  GRAPHIQL: boolean;
  INTROSPECTION: boolean;
  /** Of the embedded PostgreSQL; null when DATABASE_URL takes its place. */
  databasePassword: string | null;
  /** Whether the bearer secret was generated here, so that development tokens may be shown. */
  hasDevelopmentTokens: boolean;
}

/** Enough to recognise a value by. */
const MAX_SHOWN_CHARACTERS = 100;

/** @throws StartupError that names every setting that is wrong. */
export async function loadConfig(environment: NodeJS.Dict<string> = readEnvironment()): Promise<Config> {
  const values = readSettings(environment);
  // Asked only for what is not set: an installation that brings its own secrets gets no file of others.
  const generated = () => loadSecrets(values.DATA_DIR, randomBytes);
  const isProduction = values.NODE_ENV === 'production';
  return {
    ...values,
    PUBLIC_URL: values.PUBLIC_URL ?? `http://localhost:${values.PORT}`,
    LEDGER_SECRET_KEY: values.LEDGER_SECRET_KEY ?? (await generated()).ledgerSecretKey,
    APP_SECRET: values.APP_SECRET ?? (await generated()).appSecret,
    AUTH_SECRET:
      values.AUTH_JWKS_URL === undefined ? (values.AUTH_SECRET ?? (await generated()).authSecret) : null,
    GRAPHIQL: values.GRAPHIQL ?? !isProduction,
    // GraphiQL is of little use without it.
    INTROSPECTION: values.INTROSPECTION ?? values.GRAPHIQL ?? !isProduction,
    databasePassword: values.DATABASE_URL === undefined ? (await generated()).databasePassword : null,
    hasDevelopmentTokens:
      values.AUTH_SECRET === undefined && values.AUTH_JWKS_URL === undefined && !isProduction,
  };
}

/** Whether `npm start` or the like runs this process, through a shell of its own. */
export function isRunByNpm(): boolean {
  return process.env['npm_lifecycle_event'] !== undefined;
}

function readEnvironment(): NodeJS.Dict<string> {
  dotenv.config({ quiet: true });
  return process.env;
}

function readSettings(environment: NodeJS.Dict<string>): Values {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries<Setting>(SETTINGS)) {
    const given = givenValue(environment, name);
    const parsed = setting.schema.safeParse(given ?? setting.default ?? undefined);
    if (parsed.success) values[name] = parsed.data;
    else problems.push(describeProblem(name, setting, given, parsed.error));
  }
  const isGiven = (name: SettingName) => givenValue(environment, name) !== undefined;
  const hasHttpRamp = values['RAMP_PROVIDER'] === 'http';
  problems.push(...findContradictions(isGiven, values['NODE_ENV'] === 'production', hasHttpRamp));
  if (values['NODE_ENV'] === 'production') problems.push(...findWeakSecrets(values));
  if (problems.length > 0) throw wrongSettings(problems);
  return values as Values;
}

/** An empty variable is how shells and compose files say "not set". */
function givenValue(environment: NodeJS.Dict<string>, name: string): string | undefined {
  return environment[name]?.trim() || undefined;
}

function describeProblem(
  name: string,
  setting: Setting,
  given: string | undefined,
  error: z.ZodError,
): string {
  const rule = error.issues[0]?.message ?? 'is wrong';
  // An address may hold a user's password.
  const harmless = given?.replace(/\/\/[^/]*@/, '//…@').slice(0, MAX_SHOWN_CHARACTERS);
  const shown = setting.secret ? 'a secret value' : JSON.stringify(harmless ?? '');
  return `${name} ${rule}, but is ${shown}. ${setting.description}`;
}

/** Settings that are right by themselves and wrong together. */
function findContradictions(
  isGiven: (name: SettingName) => boolean,
  isProduction: boolean,
  hasHttpRamp: boolean,
): string[] {
  const problems: string[] = [];
  const forHttpRamp: SettingName[] = ['RAMP_URL', 'RAMP_API_KEY', 'RAMP_CALLBACK_SECRETS'];
  if (hasHttpRamp) {
    const missing = forHttpRamp.filter((name) => !isGiven(name));
    problems.push(...missing.map((name) => `${name} must be set with RAMP_PROVIDER=http.`));
  }
  if (isGiven('AUTH_SECRET') && isGiven('AUTH_JWKS_URL')) {
    problems.push(
      'AUTH_SECRET and AUTH_JWKS_URL are both set: tokens are verified one way only. Remove one.',
    );
  }
  if (isProduction) problems.push(...findUnsafeDefaults(isGiven));
  if (isProduction && !hasHttpRamp && !isGiven('RAMP_EXCHANGE_RATES')) {
    problems.push(
      'RAMP_EXCHANGE_RATES must be set in production: the default ones are examples, and payouts are real.',
    );
  }
  return problems;
}

/** What is convenient on a laptop and dangerous with other people's money. */
function findUnsafeDefaults(isGiven: (name: SettingName) => boolean): string[] {
  const required: SettingName[] = [
    'DATABASE_URL',
    // Also the embedded one has to be asked for by its name: nothing there happens on a public ledger.
    'LEDGER_NETWORK',
    'LEDGER_SECRET_KEY',
    'APP_SECRET',
    'PUBLIC_URL',
  ];
  const problems = required
    .filter((name) => !isGiven(name))
    .map((name) => `${name} must be set in production. ${SETTINGS[name].description}`);
  if (!isGiven('AUTH_SECRET') && !isGiven('AUTH_JWKS_URL')) {
    problems.push(
      'AUTH_SECRET or AUTH_JWKS_URL must be set in production: nobody could be told from anybody.',
    );
  }
  return problems;
}

/** Words that are in examples and in what people make up, and hardly ever in what was made by chance. */
const MADE_UP = /change.?me|default|example|password|secret/i;
const MIN_DIFFERENT_CHARACTERS = 12;

/** Long enough is not enough where one secret can sign an administrator's token. */
function findWeakSecrets(values: Readonly<Record<string, unknown>>): string[] {
  const names: SettingName[] = ['APP_SECRET', 'AUTH_SECRET'];
  const problems = names
    .filter((name) => isMadeUp(values[name]))
    .map(
      (name) =>
        `${name} looks made up: in production use 32 random bytes, such as \`openssl rand -base64 32\`.`,
    );
  if (values['APP_SECRET'] !== undefined && values['APP_SECRET'] === values['AUTH_SECRET']) {
    problems.push('APP_SECRET and AUTH_SECRET are the same: whoever learns one must not have the other.');
  }
  return problems;
}

function isMadeUp(secret: unknown): boolean {
  return (
    typeof secret === 'string' && (MADE_UP.test(secret) || new Set(secret).size < MIN_DIFFERENT_CHARACTERS)
  );
}

function wrongSettings(problems: readonly string[]): StartupError {
  return new StartupError(
    `${problems.length === 1 ? 'A setting is' : `${problems.length} settings are`} wrong:\n` +
      problems.map((problem) => `  ${problem}`).join('\n'),
  );
}
