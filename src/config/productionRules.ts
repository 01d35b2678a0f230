/**
 * The settings that NODE_ENV=production refuses: convenient on a laptop, dangerous with other people's money.
 */
import { familyNamed } from '../ledger/network/families.ts';
import { partsOf, serverUrlsOf } from '../lib/databaseUrl.ts';
import { hostOf, isLinkLocal, isLoopback } from '../lib/hosts.ts';
import { SETTINGS, type SettingName } from './settings.ts';
import type { ReadSettings } from './readSettings.ts';

/** @returns one line for each problem, without secrets */
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
    // The embedded network has to be named, too, because its transactions are on no public ledger.
    'LEDGER_NETWORK',
    // Most networks require it anyway, and report it.
    ...(isKeyOptional(values) ? ['LEDGER_SECRET_KEY' as const] : []),
    'APP_SECRET',
    'PUBLIC_URL',
    // The business decides whether one operator may mint and decide alone.
    'APPROVALS',
  ];
  const problems = required
    .filter((name) => !isGiven(name))
    .map((name) => `${name} must be set in production. ${SETTINGS[name].description}`);
  if (!isGiven('AUTH_SECRETS') && !isGiven('AUTH_JWKS_URL')) {
    problems.push(
      'AUTH_SECRETS or AUTH_JWKS_URL is required in production: without one, callers cannot be authenticated.',
    );
  }
  if (!isGiven('TRUSTED_PROXY_HOPS')) {
    problems.push(
      'TRUSTED_PROXY_HOPS must be set in production: the number of proxies in front that append to X-Forwarded-For, or 0 ' +
        'when clients connect to this server itself. With too few, all clients have the address of a proxy and share its ' +
        'limits, so that any of them can lock the others out; with too many, a client chooses its address itself.',
    );
  }
  if (values.RAMP_PROVIDER !== 'http' && !isGiven('RAMP_EXCHANGE_RATES')) {
    problems.push(
      'RAMP_EXCHANGE_RATES must be set in production: the default ones are examples, and payouts are real.',
    );
  }
  return problems;
}

/** A network that doesn't require the key gets a generated one. */
function isKeyOptional({ LEDGER_NETWORK: network }: Values): boolean {
  return (
    network !== undefined && !familyNamed(network).requiredSettings(network).includes('LEDGER_SECRET_KEY')
  );
}

interface NamedSecret {
  name: SettingName;
  value: string;
  /** False for a key that another party issues in its own form. */
  isOurs: boolean;
}

function secretsOf(values: Values): NamedSecret[] {
  const all: { name: SettingName; values: readonly (string | undefined)[]; isOurs: boolean }[] = [
    { name: 'APP_SECRET', values: [values.APP_SECRET], isOurs: true },
    { name: 'AUTH_SECRETS', values: values.AUTH_SECRETS ?? [], isOurs: true },
    { name: 'SEALING_SECRETS', values: sealingSecretsOf(values), isOurs: true },
    { name: 'RAMP_CALLBACK_SECRETS', values: values.RAMP_CALLBACK_SECRETS ?? [], isOurs: true },
    { name: 'RAMP_API_KEY', values: [values.RAMP_API_KEY], isOurs: false },
    { name: 'INDEXER_TOKEN', values: [values.INDEXER_TOKEN], isOurs: false },
    { name: 'METRICS_TOKEN', values: [values.METRICS_TOKEN], isOurs: true },
    { name: 'LEDGER_SECRET_KEY', values: [values.LEDGER_SECRET_KEY], isOurs: false },
    { name: 'DATABASE_URL', values: [passwordIn(values.DATABASE_URL)], isOurs: false },
    { name: 'DATABASE_DIRECT_URL', values: otherPasswordsOf('DATABASE_DIRECT_URL', values), isOurs: false },
    { name: 'DATABASE_READ_URL', values: otherPasswordsOf('DATABASE_READ_URL', values), isOurs: false },
    { name: 'DATABASE_MIGRATION_URL', values: [passwordIn(values.DATABASE_MIGRATION_URL)], isOurs: false },
  ];
  return all.flatMap(({ name, values: given, isOurs }) =>
    given.flatMap((value) => (value ? [{ name, value, isOurs }] : [])),
  );
}

/**
 * Without SEALING_SECRETS, APP_SECRET seals. Its replacement lists it there, which is not a shared secret.
 */
function sealingSecretsOf({ SEALING_SECRETS: secrets = [], APP_SECRET: appSecret }: Values): string[] {
  return secrets.filter((secret) => secret !== appSecret);
}

/** The same role as in DATABASE_URL, at another address: its password may be the same. */
function otherPasswordsOf(name: 'DATABASE_DIRECT_URL' | 'DATABASE_READ_URL', values: Values) {
  const password = passwordIn(values[name]);
  return password === passwordIn(values.DATABASE_URL) ? [] : [password];
}

function passwordIn(url: string | undefined): string | undefined {
  return url === undefined ? undefined : partsOf(url).password;
}

/** Words that occur in examples and in invented secrets, and hardly ever in random ones. */
const MADE_UP = /change.?me|default|example|password/i;
/** Only for our secrets: issued keys name their kind, such as "secret_live_…". */
const MADE_UP_HERE = /secret/i;
const MIN_DIFFERENT_CHARACTERS = 12;
/** For issued secrets; the rules of the settings require longer ones of ours. */
const MIN_ISSUED_CHARACTERS = 12;

/** A long secret can still be guessed. */
function findWeakSecrets(values: Values): string[] {
  const isGuessable = (value: string) =>
    MADE_UP_HERE.test(value) || new Set(value).size < MIN_DIFFERENT_CHARACTERS || isPattern(value);
  const weak = secretsOf(values).filter(
    ({ value, isOurs }) =>
      MADE_UP.test(value) || (isOurs ? isGuessable(value) : value.length < MIN_ISSUED_CHARACTERS),
  );
  return [...new Set(weak.map(adviceAbout))];
}

function adviceAbout({ name, isOurs }: NamedSecret): string {
  if (isOurs)
    return `${name} looks made up: in production use 32 random bytes, such as \`openssl rand -base64 32\`.`;
  const problem = `looks made up, or has fewer than ${MIN_ISSUED_CHARACTERS} characters: in production`;
  // Advises hexadecimal digits, which an address takes without escapes.
  return DATABASES.some((database) => database === name)
    ? `${name} has a password that ${problem} give its role a random one, such as \`openssl rand -hex 32\`.`
    : `${name} ${problem} use one that its issuer has made by chance.`;
}

/** A repeated shorter text, or mostly bytes that follow each other, such as "abcdef" and "987654". */
function isPattern(value: string): boolean {
  const lengths = Array.from({ length: Math.floor(value.length / 2) }, (_, i) => i + 1);
  if (lengths.some((length) => value.startsWith(value.slice(length)))) return true;
  const codes = [...Buffer.from(value)];
  const steps = codes.filter((code, i) => i > 0 && Math.abs(code - (codes[i - 1] ?? 0)) <= 1);
  return steps.length > value.length / 2;
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

/** These addresses carry secrets, or decide who a caller is and which events the server believes. */
const TRUSTED_ADDRESSES = ['AUTH_JWKS_URL', 'RAMP_URL', 'INDEXER_URL', 'PUBLIC_URL'] as const;
/** Connections to a database are not encrypted unless the address asks for it. */
const DATABASES = [
  'DATABASE_URL',
  'DATABASE_DIRECT_URL',
  'DATABASE_MIGRATION_URL',
  'DATABASE_READ_URL',
] as const;
/** Without "prefer" and "allow", which continue in clear text when a program in between denies encryption. */
const ENCRYPTED_MODES: ReadonlySet<string | null> = new Set(['require', 'verify-ca', 'verify-full', 'true']);

interface NamedAddress {
  name: SettingName;
  url: string;
}

function findUnsafeAddresses(values: Values): string[] {
  const isProtected = (url: string) =>
    isLoopback(hostOf(url)) || values.PLAIN_TEXT_HOSTS?.includes(hostOf(url)) === true;
  const given = (names: readonly SettingName[]): NamedAddress[] =>
    names.flatMap((name) => {
      const url = values[name];
      return typeof url === 'string' ? [{ name, url }] : [];
    });
  const origins = (values.ALLOWED_ORIGINS ?? [])
    .filter((origin) => origin !== '*')
    .map((url) => ({ name: 'ALLOWED_ORIGINS' as const, url }));
  const databases = given(DATABASES).flatMap(({ name, url }) =>
    serverUrlsOf(url).map((server) => ({ name, url: server })),
  );
  return [
    // A node in a private network needs no https: its own rule is in ledgerContradictions.ts.
    ...[...given([...TRUSTED_ADDRESSES, 'LEDGER_RPC_URL']), ...databases].flatMap(refuseLinkLocal),
    ...[...given(TRUSTED_ADDRESSES), ...origins]
      .filter(({ url }) => url.startsWith('http:') && !isProtected(url) && !isLinkLocal(hostOf(url)))
      .map(
        ({ name, url }) =>
          `${name} leads to ${hostOf(url)} in clear text, where a program in between can read and change it. ` +
          'Use https://, or name the host in PLAIN_TEXT_HOSTS when a private network protects the way to it.',
      ),
    ...databases
      .filter(({ url }) => !isEncrypted(url) && !isProtected(url))
      .map(
        ({ name, url }) =>
          `${name} leads to ${hostOf(url)} in clear text, where a program in between can read the password and all ` +
          'data. Add ?sslmode=verify-full, or name the host in PLAIN_TEXT_HOSTS when a private network protects the way to it.',
      ),
  ];
}

function refuseLinkLocal({ name, url }: NamedAddress): string[] {
  const host = hostOf(url);
  if (!isLinkLocal(host)) return [];
  return [
    `${name} leads to ${host}, a link-local address, where machines keep their own credentials. ` +
      'Use an address of the service that is meant.',
  ];
}

/** A URL without a host leads to a socket of this machine. */
function isEncrypted(url: string): boolean {
  const { hostname, searchParams } = new URL(url);
  return hostname === '' || ENCRYPTED_MODES.has(searchParams.get('sslmode') ?? searchParams.get('ssl'));
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
