/**
 * Every setting of the product: its name, its meaning, its default and its rule. config.ts reads the
 * environment by this table, and `npm run docs:settings` prints docs/settings.md and .env.example from it.
 * The settings of the ledger network are in ledgerSettings.ts, and the limits in limitSettings.ts.
 */
import { LEDGER_SETTINGS } from './ledgerSettings.ts';
import { LIMIT_SETTINGS } from './limitSettings.ts';
import {
  countryCode,
  currencyRates,
  headerNames,
  headerText,
  hostNames,
  origins,
  postgresUrl,
  providerName,
  publicUrl,
  secretTexts,
  timeZone,
} from './ownRules.ts';
import { flag, httpUrl, oneOf, secretText, setting, text, wholeNumber } from '../lib/settingRules.ts';

/** A year. A longer credential must be an API key, which can be listed. */
export const MAX_TOKEN_SECONDS = 31_536_000;

export const SETTINGS = {
  PORT: setting(wholeNumber(1, 65_535), '4000', 'Port of the HTTP server.'),
  HOST: setting(
    text,
    '127.0.0.1',
    'Address to listen on; 0.0.0.0 for every interface; GraphiQL then has no tokens.',
  ),
  PUBLIC_URL: setting(
    publicUrl.optional(),
    null,
    'Where the indexer and clients reach this server, without a path. Default: http://localhost:PORT.',
  ),
  DATA_DIR: setting(
    text,
    '.data',
    'Folder of the embedded PostgreSQL and of generated secrets; a server that needs neither writes no file. ' +
      "Two containers can't share a folder with an embedded PostgreSQL.",
  ),
  DATABASE_URL: setting(
    postgresUrl.optional(),
    null,
    'A PostgreSQL of your own (15 or newer), on another machine with ?sslmode=verify-full, or require where its certificate ' +
      "can't be verified. With several hosts, separated by commas, the one that takes writes is used: the newest primary of a " +
      'failover. Default: the embedded one under DATA_DIR.',
    { secret: true },
  ),
  DATABASE_DIRECT_URL: setting(
    postgresUrl.optional(),
    null,
    'Where DATABASE_URL is a pooler in transaction mode (PgBouncer): the same database without it, for LISTEN and ' +
      'migrations. Each instance keeps one connection there. Default: DATABASE_URL.',
    { secret: true },
  ),
  DATABASE_MIGRATION_URL: setting(
    postgresUrl.optional(),
    null,
    'The same database as the role that owns the tables, for migrations alone; not through a pooler. They grant the role ' +
      'of DATABASE_URL what it needs. Default: DATABASE_DIRECT_URL, or DATABASE_URL.',
    { secret: true },
  ),
  DATABASE_ROLES: setting(
    oneOf('separate', 'single'),
    'separate',
    'With "separate", production refuses a role in DATABASE_URL that could switch off the rules of the database, such as the ' +
      'owner of the tables; "single" allows it.',
  ),
  DATABASE_READ_URL: setting(
    postgresUrl.optional(),
    null,
    'Streaming replicas of the database, separated by commas, as the role of DATABASE_URL: public lists and replays of the feed ' +
      'are read from the first one that is fresh enough. Default: all is read from DATABASE_URL.',
    { secret: true },
  ),
  DATABASE_READ_MAX_LAG_SECONDS: setting(
    wholeNumber(2, 60),
    '5',
    'How old what a replica shows may be. One that is further behind, or does not answer, is not read from.',
  ),
  DATABASE_POOL_SIZE: setting(
    // Half of the pool carries transactions. A full reconciliation and the review of a halt hold two
    // connections each, for minutes.
    wholeNumber(10, 200),
    '20',
    'Connections that one instance opens at most, beside the one that listens; and as many to each replica.',
  ),
  ...LEDGER_SETTINGS,
  RAMP_PROVIDER: setting(
    oneOf('manual', 'http'),
    'manual',
    'Who pays out cash-outs: "manual" is a person whom an operator speaks for, "http" a provider at RAMP_URL.',
  ),
  RAMP_EXCHANGE_RATES: setting(
    currencyRates,
    'KES=0.02,UGX=0.0007,USD=2.5',
    "The manual provider's rates: tokens (kilograms) per one unit of each currency. Others are refused.",
  ),
  RAMP_FEE_BPS: setting(
    wholeNumber(0, 9_999),
    '150',
    "The manual provider's fee in basis points, taken from the fiat amount.",
  ),
  RAMP_QUOTE_SECONDS: setting(
    wholeNumber(30, 86_400),
    '900',
    'How long a quote of the manual provider holds.',
  ),
  RAMP_NAME: setting(
    providerName.optional(),
    null,
    'The name under which cash-outs remember the ramp provider, for RAMP_PROVIDER=http. It stays when the address of the ' +
      'provider changes; another provider, or its sandbox, gets another name. 1 to 64 lower-case letters, digits, dots and ' +
      'hyphens, but not "manual".',
  ),
  RAMP_URL: setting(httpUrl.optional(), null, 'Base address of the ramp provider, for RAMP_PROVIDER=http.'),
  RAMP_API_KEY: setting(
    headerText.optional(),
    null,
    'The API key that the server sends to the ramp provider, for RAMP_PROVIDER=http.',
    { secret: true },
  ),
  RAMP_CALLBACK_SECRETS: setting(
    secretTexts.optional(),
    null,
    'What the ramp provider signs its callbacks with, separated by commas while one replaces another.',
    { secret: true },
  ),
  RAMP_REQUESTS_PER_SECOND: setting(
    wholeNumber(1, 1_000),
    '10',
    'The most requests a second that one instance sends to the ramp provider, for RAMP_PROVIDER=http.',
  ),
  RECEIPT_COUNTRY_CODE: setting(countryCode, 'KE', 'The country of receipts whose warehouse names none.'),
  APPROVALS: setting(
    oneOf('required', 'off'),
    'off',
    'Whether large mints, statuses of manual payouts other than PROCESSING, decisions of reviews and resumeSigning need the approval ' +
      'of a second person. Production has no default.',
  ),
  APPROVAL_ABOVE_TONNES: setting(
    wholeNumber(0, 1_000_000_000_000),
    '10000',
    'With APPROVALS=required: a project of more tonnes needs approval.',
  ),
  APPROVAL_ABOVE_KILOGRAMS: setting(
    wholeNumber(0, 1_000_000_000_000),
    '100000',
    'With APPROVALS=required: a deposit of more kilograms needs approval.',
  ),
  APPROVAL_SECONDS: setting(
    wholeNumber(60, 31_536_000),
    '259200',
    'How long a request awaits approval before it expires.',
  ),
  NIGHTLY_TIME_ZONE: setting(
    timeZone,
    'UTC',
    'Time zone of the nightly jobs: the expiry at 02:00, the full reconciliation at 03:00.',
  ),
  INDEXER_URL: setting(
    httpUrl.optional(),
    null,
    'Base address of the indexer. Default on the embedded network: the embedded one; elsewhere none, and the feed ' +
      'finds what others retire within FEED_COMPARE_INTERVAL_MS.',
  ),
  INDEXER_TOKEN: setting(
    headerText.optional(),
    null,
    'The bearer token that the indexer at INDEXER_URL asks for, if it asks for one.',
    { secret: true },
  ),
  INDEXER_SIGNATURE_HEADERS: setting(
    headerNames,
    'x-service-signature,x-ankara-signature',
    "Headers that may carry the signature of an indexer's delivery; the first one present counts.",
  ),
  APP_SECRET: setting(
    secretText.optional(),
    null,
    'Key material for deploy salts and the key of the transparency logs, and for secrets at rest unless SEALING_SECRETS is ' +
      'set. Never change it. Default on embedded defaults: generated.',
    { secret: true },
  ),
  SEALING_SECRETS: setting(
    secretTexts.optional(),
    null,
    'What stored secrets are encrypted with, separated by commas while one replaces another: the first seals, all of them ' +
      'open, and APP_SECRET does. See docs/operations.md. Default: APP_SECRET.',
    { secret: true },
  ),
  TRANSPARENCY_LOG_ORIGIN: setting(
    text
      .regex(/^[a-z0-9.:/_-]{1,200}[a-z0-9]$/, 'must be like api.example/logs: lower case, without a scheme')
      .optional(),
    null,
    'The first part of the names of the transparency logs. Give a new one after a restore of an older backup. Default: what ' +
      'they have; at first the host of PUBLIC_URL, and /logs.',
  ),
  AUTH_SECRETS: setting(
    secretTexts.optional(),
    null,
    'What bearer tokens (HS256) are signed with, separated by commas while one replaces another: each of them verifies. ' +
      'Default on embedded defaults: generated.',
    { secret: true },
  ),
  AUTH_JWKS_URL: setting(
    httpUrl.optional(),
    null,
    "Address of your identity provider's keys, instead of AUTH_SECRETS (RS256, ES256, EdDSA).",
  ),
  AUTH_ISSUER: setting(text, 'asset-token-marketplace', 'The "iss" that bearer tokens must have.'),
  AUTH_AUDIENCE: setting(text, 'asset-token-marketplace', 'The "aud" that bearer tokens must have.'),
  AUTH_MAX_TOKEN_SECONDS: setting(
    wholeNumber(60, MAX_TOKEN_SECONDS),
    '604800',
    'The longest time from the issue of a bearer token to its expiry. A stolen token works for as long; an hour is usual.',
  ),
  ALLOWED_ORIGINS: setting(
    origins.optional(),
    null,
    'Origins of web pages that may call the API, separated by commas, or *. Default: none but its own.',
  ),
  GRAPHIQL: setting(
    flag.optional(),
    null,
    'Whether /graphql shows GraphiQL to browsers. Default: true, in production false.',
  ),
  INTROSPECTION: setting(
    flag.optional(),
    null,
    'Whether clients may ask for the schema. Default: true, in production as GRAPHIQL.',
  ),
  METRICS_ACCESS: setting(
    oneOf('private', 'token').optional(),
    null,
    'Who reads /metrics: "token" only with METRICS_TOKEN or the token of an operator; "private" also without one from loopback ' +
      'and private addresses, unless a proxy hands the request on. Default: private, in production token.',
  ),
  METRICS_TOKEN: setting(
    secretText.optional(),
    null,
    'The bearer token that a scraper reads /metrics with, and nothing else.',
    { secret: true },
  ),
  PLAIN_TEXT_HOSTS: setting(
    hostNames.optional(),
    null,
    'Hosts that AUTH_JWKS_URL, RAMP_URL, INDEXER_URL, PUBLIC_URL and ALLOWED_ORIGINS may name with http:// in production, and ' +
      'DATABASE_URL and the like without sslmode, separated by commas, because a private network protects the way to them. ' +
      'Default: this machine alone.',
  ),
  DOCUMENTS: setting(
    oneOf('any', 'trusted'),
    'any',
    'Which GraphQL documents run: "any", or "trusted" for those of TRUSTED_DOCUMENTS alone, over every transport.',
  ),
  TRUSTED_DOCUMENTS: setting(
    text.optional(),
    null,
    'File or folder of documents that clients may name by their id: .json as codegen, Relay or Apollo write it, or .graphql.',
  ),
  TRUSTED_PROXY_HOPS: setting(
    wholeNumber(0, 10),
    '0',
    "Proxies in front, whose X-Forwarded-For is trusted for the client's address. Production has no default.",
  ),
  ...LIMIT_SETTINGS,
  MUTATION_WAIT_MS: setting(
    wholeNumber(0, 120_000),
    '25000',
    'How long a mutation waits for the network before it answers with the state reached.',
  ),
  FEED_COMPARE_INTERVAL_MS: setting(
    wholeNumber(1000, 60_000),
    '30000',
    'How often the feed is compared with every token, for deliveries that never came.',
  ),
  LOG_LEVEL: setting(
    oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    'info',
    'The least important messages to log.',
  ),
  NODE_ENV: setting(
    oneOf('development', 'test', 'production'),
    'development',
    '"production" refuses unsafe defaults.',
  ),
} as const;

export type SettingName = keyof typeof SETTINGS;
