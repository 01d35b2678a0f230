/**
 * What NODE_ENV=production refuses: settings that are convenient on a laptop and dangerous with other people's money.
 */
import { familyNamed } from '../ledger/network/families.ts';
import { hostOf, isLinkLocal, isLoopback } from '../lib/privateHost.ts';
import { SETTINGS, type SettingName } from './settings.ts';
import type { ReadSettings } from './readSettings.ts';

/** One line for each problem; none repeats a secret. */
export function findUnsafeSettings({ values, isGiven }: ReadSettings): string[] {
  return [
    ...findMissing(values, isGiven),
    ...findWeakSecrets(values),
    ...findSharedSecrets(values),
    ...findUnsafeAddresses(values),
    ...findOpenDoors(values),
  ];
}

type Values = ReadSettings['values'];

function findMissing(values: Values, isGiven: ReadSettings['isGiven']): string[] {
  const required: SettingName[] = [
    'DATABASE_URL',
    // Also the embedded one has to be asked for by its name: nothing there happens on a public ledger.
    'LEDGER_NETWORK',
    // Most networks require it anyhow, and say so.
    ...(isKeyOptional(values) ? ['LEDGER_SECRET_KEY' as const] : []),
    'APP_SECRET',
    'PUBLIC_URL',
    // Whether one operator may mint and decide alone is for the business to say.
    'APPROVALS',
  ];
  const problems = required
    .filter((name) => !isGiven(name))
    .map((name) => `${name} must be set in production. ${SETTINGS[name].description}`);
  if (!isGiven('AUTH_SECRET') && !isGiven('AUTH_JWKS_URL')) {
    problems.push(
      'AUTH_SECRET or AUTH_JWKS_URL is required in production: without one, callers cannot be authenticated.',
    );
  }
  if (values.RAMP_PROVIDER !== 'http' && !isGiven('RAMP_EXCHANGE_RATES')) {
    problems.push(
      'RAMP_EXCHANGE_RATES must be set in production: the default ones are examples, and payouts are real.',
    );
  }
  return problems;
}

/** Where none is given, one is generated. */
function isKeyOptional({ LEDGER_NETWORK: network }: Values): boolean {
  return (
    network !== undefined && !familyNamed(network).requiredSettings(network).includes('LEDGER_SECRET_KEY')
  );
}

interface NamedSecret {
  name: SettingName;
  value: string;
  /** False for a key that another party issues in a form of its own. */
  isOurs: boolean;
}

function secretsOf(values: Values): NamedSecret[] {
  const ours = (['APP_SECRET', 'AUTH_SECRET'] as const).map((name) => ({
    name,
    values: [values[name]],
    isOurs: true,
  }));
  const all: { name: SettingName; values: readonly (string | undefined)[]; isOurs: boolean }[] = [
    ...ours,
    { name: 'SEALING_SECRETS', values: sealingSecretsOf(values), isOurs: true },
    { name: 'RAMP_CALLBACK_SECRETS', values: values.RAMP_CALLBACK_SECRETS ?? [], isOurs: true },
    { name: 'RAMP_API_KEY', values: [values.RAMP_API_KEY], isOurs: false },
    { name: 'INDEXER_TOKEN', values: [values.INDEXER_TOKEN], isOurs: false },
    { name: 'LEDGER_SECRET_KEY', values: [values.LEDGER_SECRET_KEY], isOurs: false },
    { name: 'DATABASE_URL', values: [passwordIn(values.DATABASE_URL)], isOurs: false },
    {
      name: 'DATABASE_MIGRATION_URL',
      values: [passwordIn(values.DATABASE_MIGRATION_URL)],
      isOurs: false,
    },
  ];
  return all.flatMap(({ name, values: given, isOurs }) =>
    given.flatMap((value) => (value ? [{ name, value, isOurs }] : [])),
  );
}

/** Without them APP_SECRET seals: to be replaced there, it is listed among them. */
function sealingSecretsOf({ SEALING_SECRETS: secrets = [], APP_SECRET: appSecret }: Values): string[] {
  return secrets.filter((secret) => secret !== appSecret);
}

function passwordIn(url: string | undefined): string | undefined {
  return url === undefined ? undefined : decodeURIComponent(new URL(url).password);
}

/** Words that are in examples and in what people make up, and hardly ever in what was made by chance. */
const MADE_UP = /change.?me|default|example|password/i;
/** Issued keys name their kind, such as "secret_live_…". */
const MADE_UP_HERE = /secret/i;
const MIN_DIFFERENT_CHARACTERS = 12;

/** Length is checked by each setting's own rule; a long secret can still be guessed. */
function findWeakSecrets(values: Values): string[] {
  const weak = secretsOf(values).filter(
    ({ value, isOurs }) =>
      MADE_UP.test(value) ||
      (isOurs && (MADE_UP_HERE.test(value) || new Set(value).size < MIN_DIFFERENT_CHARACTERS)),
  );
  return [...new Set(weak.map(({ name }) => name))].map(
    (name) =>
      `${name} looks made up: in production use 32 random bytes, such as \`openssl rand -base64 32\`.`,
  );
}

function findSharedSecrets(values: Values): string[] {
  const secrets = secretsOf(values);
  return secrets.flatMap(({ name, value }, index) =>
    secrets.slice(index + 1).flatMap((other) => {
      if (other.value !== value) return [];
      return [
        other.name === name
          ? `${name} holds the same secret twice: remove one.`
          : `${name} and ${other.name} are the same: a program that learns one must not have the other.`,
      ];
    }),
  );
}

/** They carry secrets, or decide who a caller is and what is believed to have happened. */
const TRUSTED_ADDRESSES = ['AUTH_JWKS_URL', 'RAMP_URL', 'INDEXER_URL', 'PUBLIC_URL'] as const;

function findUnsafeAddresses(values: Values): string[] {
  const named = new Set(values.PLAIN_HTTP_HOSTS ?? []);
  return TRUSTED_ADDRESSES.flatMap((name) => {
    const url = values[name];
    if (url === undefined) return [];
    const host = hostOf(url);
    if (isLinkLocal(host)) {
      return [
        `${name} leads to ${host}, a link-local address, where machines keep their own credentials. ` +
          'Use an address of the service that is meant.',
      ];
    }
    if (!url.startsWith('http:') || isLoopback(host) || named.has(host)) return [];
    return [
      `${name} leads to ${host} in clear text, where a program in between can read and change it. ` +
        'Use https://, or name the host in PLAIN_HTTP_HOSTS when a private network protects the way to it.',
    ];
  });
}

function findOpenDoors(values: Values): string[] {
  const problems: string[] = [];
  if (values.ALLOWED_ORIGINS?.includes('*')) {
    problems.push(
      'ALLOWED_ORIGINS is * in production: any page could call the API from the browser of its visitor. ' +
        'Name the origins of your own pages.',
    );
  }
  if (values.LOG_LEVEL === 'silent' || values.LOG_LEVEL === 'fatal') {
    problems.push(
      `LOG_LEVEL is ${values.LOG_LEVEL} in production: failures that an operator has to act on would not be ` +
        'seen. Use error or a more talkative level.',
    );
  }
  return problems;
}
