/**
 * The only reader of the environment: checks every setting, and reports all wrong ones at once, by name.
 */
import { randomBytes } from 'node:crypto';
import dotenv from 'dotenv';
import type * as z from 'zod';
import { familyNamed, type LedgerConfig } from '../ledger/network/families.ts';
import { findContradictions } from './contradictions.ts';
import { findLedgerProblems } from './ledgerContradictions.ts';
import { findUnsafeSettings } from './productionRules.ts';
import type { ReadSettings, Values } from './readSettings.ts';
import { loadSecrets } from './secrets.ts';
import { SETTINGS, type SettingName } from './settings.ts';
import type { SealingSecrets } from '../lib/sealer.ts';
import type { Setting } from '../lib/settingRules.ts';
import { WrongSettings } from '../lib/startupErrors.ts';

export type Config = Omit<Values, keyof Derived> & Derived;

/** What is made of the settings as they were read. */
interface Derived {
  PUBLIC_URL: string;
  LEDGER_SECRET_KEY: string;
  APP_SECRET: string;
  /** Null when AUTH_JWKS_URL takes its place. */
  AUTH_SECRETS: readonly string[] | null;
  GRAPHIQL: boolean;
  INTROSPECTION: boolean;
  METRICS_ACCESS: 'private' | 'token';
  /** The first secret seals stored secrets, all of them open. */
  sealingSecrets: SealingSecrets;
  /** The settings of the configured ledger network. */
  ledger: LedgerConfig;
  /** The password of the embedded PostgreSQL; null when DATABASE_URL takes its place. */
  databasePassword: string | null;
  /** Whether the bearer secret was generated here, so that development tokens may be shown. */
  hasDevelopmentTokens: boolean;
}

/** Maximum shown characters of a wrong value. */
const MAX_SHOWN_CHARACTERS = 100;

/** @throws WrongSettings, which names every wrong setting */
export async function loadConfig(environment: NodeJS.Dict<string> = readEnvironment()): Promise<Config> {
  const values = await readSettings(environment);
  // Called only for settings without a value: an installation with its own secrets gets no file of generated
  // ones.
  const generated = () => loadSecrets(values.DATA_DIR, randomBytes);
  const isProduction = values.NODE_ENV === 'production';
  const appSecret = values.APP_SECRET ?? (await generated()).appSecret;
  const ledgerSecretKey = values.LEDGER_SECRET_KEY ?? (await generated()).ledgerSecretKey;
  const withKey = { ...values, LEDGER_SECRET_KEY: ledgerSecretKey };
  const network = values.LEDGER_NETWORK;
  return {
    ...withKey,
    ledger: familyNamed(network).configure(network, withKey) as LedgerConfig,
    PUBLIC_URL: values.PUBLIC_URL ?? `http://localhost:${values.PORT}`,
    APP_SECRET: appSecret,
    sealingSecrets: sealingSecretsOf(values, appSecret),
    AUTH_SECRETS:
      values.AUTH_JWKS_URL === undefined ? (values.AUTH_SECRETS ?? [(await generated()).authSecret]) : null,
    GRAPHIQL: values.GRAPHIQL ?? !isProduction,
    // GraphiQL is of little use without introspection.
    INTROSPECTION: values.INTROSPECTION ?? values.GRAPHIQL ?? !isProduction,
    // Addresses in a hosted network are private, too, so production must allow them explicitly.
    METRICS_ACCESS: values.METRICS_ACCESS ?? (isProduction ? 'token' : 'private'),
    databasePassword: values.DATABASE_URL === undefined ? (await generated()).databasePassword : null,
    hasDevelopmentTokens:
      values.AUTH_SECRETS === undefined && values.AUTH_JWKS_URL === undefined && !isProduction,
  };
}

/** Secrets that were sealed before SEALING_SECRETS was set open with APP_SECRET. */
function sealingSecretsOf({ SEALING_SECRETS: secrets = [] }: Values, appSecret: string): SealingSecrets {
  const [first, ...others] = secrets;
  return first === undefined ? [appSecret] : [first, ...others, appSecret];
}

/** Whether npm runs this process (such as `npm start`), through a shell. */
export function isRunByNpm(): boolean {
  return process.env['npm_lifecycle_event'] !== undefined;
}

/** The variables of the environment and of `.env`. */
export function readEnvironment(): NodeJS.Dict<string> {
  dotenv.config({ quiet: true });
  return process.env;
}

async function readSettings(environment: NodeJS.Dict<string>): Promise<Values> {
  const problems: string[] = [];
  const values: Partial<Values> = {};
  for (const [name, setting] of Object.entries<Setting>(SETTINGS)) {
    const given = givenValue(environment, name);
    const parsed = setting.schema.safeParse(given ?? setting.default ?? undefined);
    if (parsed.success) Object.assign(values, { [name]: parsed.data });
    else problems.push(describeProblem(name, setting, given, parsed.error));
  }
  const isGiven = (name: SettingName) => givenValue(environment, name) !== undefined;
  const read: ReadSettings = { values, isGiven, isProduction: values.NODE_ENV === 'production' };
  problems.push(...findContradictions(read), ...(await findLedgerProblems(read)));
  if (read.isProduction) problems.push(...findUnsafeSettings(read));
  if (problems.length > 0) throw new WrongSettings(problems);
  return values as Values;
}

/** Shells and compose files write an empty variable for "not set". */
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
  // An address may contain a user's password.
  const harmless = given?.replace(/\/\/[^/]*@/, '//…@').slice(0, MAX_SHOWN_CHARACTERS);
  const shown = setting.secret ? 'a secret value' : JSON.stringify(harmless ?? '');
  return `${name} ${rule}, but is ${shown}. ${setting.description}`;
}
