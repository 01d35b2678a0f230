/**
 * Settings: all mistakes are reported at once, secrets are never repeated, and the documents agree with the
 * table in src/config/settings.ts.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type * as z from 'zod';
import { loadConfig } from '../../../src/config/config.ts';
import { generateSecretKey } from '../../../src/lib/strkey.ts';
import { SETTINGS } from '../../../src/config/settings.ts';
import { MANUAL_PROVIDER } from '../../../src/ramp/providerName.ts';

let DATA_DIR: string;

const HTTP_RAMP = {
  RAMP_PROVIDER: 'http',
  RAMP_NAME: 'ramp',
  RAMP_URL: 'https://ramp.example',
  RAMP_API_KEY: 'a key',
  RAMP_CALLBACK_SECRETS: 'c'.repeat(32),
};

beforeAll(async () => {
  DATA_DIR = await mkdtemp(join(tmpdir(), 'settings-'));
});
afterAll(() => rm(DATA_DIR, { recursive: true, force: true }));

describe('loadConfig', () => {
  it('runs on nothing but defaults, and finds its generated secrets again', async () => {
    const first = await loadConfig({ DATA_DIR });
    const second = await loadConfig({ DATA_DIR });
    expect(first).toMatchObject({
      PORT: 4000,
      PUBLIC_URL: 'http://localhost:4000',
      LEDGER_NETWORK: 'embedded',
    });
    expect(first.hasDevelopmentTokens).toBe(true);
    expect(second).toEqual(first);
  });

  it('gives two processes that start at once the same secrets', async () => {
    const fresh = join(DATA_DIR, 'fresh');
    const configs = await Promise.all(Array.from({ length: 5 }, () => loadConfig({ DATA_DIR: fresh })));
    expect(new Set(configs.map((config) => config.LEDGER_SECRET_KEY)).size).toBe(1);
  });

  it('says of a wrong setting what is wrong with it, and nothing that follows from it', async () => {
    const wrong = { DATA_DIR, PUBLIC_URL: 'api example', RAMP_PROVIDER: 'bank', RAMP_FEE_BPS: '100' };
    const message = await loadConfig(wrong).catch((error: Error) => error.message);
    expect(message).toMatch(/ PUBLIC_URL must be an http/);
    expect(message).toMatch(/ RAMP_PROVIDER must be manual or http/);
    expect(message).not.toMatch(/RAMP_FEE_BPS|undefined/);
  });

  it('names every wrong setting at once, without repeating a secret', async () => {
    const wrong = {
      DATA_DIR,
      PORT: 'eighty',
      LEDGER_NETWORK: 'moonbase',
      AUTH_SECRETS: 'hunter2',
      DATABASE_URL: 'mysql://root:hunter2@localhost/db',
      MUTATION_WAIT_MS: '-1',
    };
    const message = await loadConfig(wrong).then(
      () => '',
      (error: Error) => error.message,
    );
    for (const name of ['PORT', 'LEDGER_NETWORK', 'AUTH_SECRETS', 'DATABASE_URL', 'MUTATION_WAIT_MS']) {
      expect(message).toContain(name);
    }
    expect(message).toContain('"eighty"');
    expect(message).not.toContain('hunter2');
  });

  it('takes time zones by their present names and their earlier ones, and no abbreviation', async () => {
    for (const zone of ['UTC', 'Asia/Kolkata', 'Asia/Calcutta', 'America/Argentina/Buenos_Aires']) {
      const config = await loadConfig({ DATA_DIR, NIGHTLY_TIME_ZONE: zone });
      expect(config).toMatchObject({ NIGHTLY_TIME_ZONE: zone });
    }
    for (const zone of ['IST', '+05:30', 'Asia/Atlantis', 'Africa']) {
      const refused = loadConfig({ DATA_DIR, NIGHTLY_TIME_ZONE: zone });
      await expect(refused).rejects.toThrow('must be a time zone like UTC or Africa/Nairobi');
    }
  });

  it('refuses a key that no header can carry, without repeating it', async () => {
    for (const name of ['RAMP_API_KEY', 'INDEXER_TOKEN']) {
      const refused = await loadConfig({ DATA_DIR, [name]: 'hunter2\nhunter2' }).then(String, String);
      expect(refused).toContain(`${name} must be printable ASCII`);
      expect(refused).not.toContain('hunter2');
    }
  });

  it('refuses trusted documents without a place that they are read from', async () => {
    await expect(loadConfig({ DATA_DIR, DOCUMENTS: 'trusted' })).rejects.toThrow(
      'TRUSTED_DOCUMENTS must be set with DOCUMENTS=trusted.',
    );
    const config = await loadConfig({ DATA_DIR, DOCUMENTS: 'trusted', TRUSTED_DOCUMENTS: 'documents' });
    expect(config).toMatchObject({ DOCUMENTS: 'trusted', TRUSTED_DOCUMENTS: 'documents' });
  });

  it('refuses unsafe defaults in production and says which setting is missing', async () => {
    const production = loadConfig({ DATA_DIR, NODE_ENV: 'production' });
    await expect(production).rejects.toThrow(
      /DATABASE_URL[^]*LEDGER_SECRET_KEY[^]*APP_SECRET[^]*AUTH_SECRETS/,
    );
  });

  const DATABASE = 'postgres://app:V7kq2Lm9Xz4c@db.example/app';
  const strong = () => randomBytes(32).toString('base64');
  const production = (overrides: Record<string, string> = {}) => ({
    DATA_DIR: join(DATA_DIR, 'production'),
    NODE_ENV: 'production',
    DATABASE_URL: `postgres://user:${encodeURIComponent(strong())}@db.example/app?sslmode=verify-full`,
    LEDGER_NETWORK: 'embedded',
    LEDGER_SECRET_KEY: generateSecretKey(randomBytes),
    PUBLIC_URL: 'https://api.example',
    APP_SECRET: strong(),
    AUTH_SECRETS: strong(),
    RAMP_EXCHANGE_RATES: 'KES=129.5',
    APPROVALS: 'required',
    TRUSTED_PROXY_HOPS: '0',
    ...overrides,
  });

  it('starts in production on nothing but what was asked for, closed to the curious', async () => {
    const config = await loadConfig(production());
    expect(config).toMatchObject({ GRAPHIQL: false, INTROSPECTION: false, hasDevelopmentTokens: false });
    const asked = await loadConfig(production({ GRAPHIQL: 'true' }));
    expect(asked).toMatchObject({ GRAPHIQL: true, INTROSPECTION: true });
  });

  it('takes a database of several servers, and looks into its password as into others', async () => {
    const of = (credentials: string) =>
      `postgres://${credentials}@a.example,b.example:5433/app?sslmode=require`;
    expect(await loadConfig(production({ DATABASE_URL: of('user:V7kq2Lm9Xz4c') }))).toMatchObject({
      DATABASE_URL: of('user:V7kq2Lm9Xz4c'),
    });
    await expect(loadConfig(production({ DATABASE_URL: of('user:default') }))).rejects.toThrow('made up');
    for (const wrong of ['postgres://a.example,,b.example/app', 'mysql://a.example/app', 'a.example:5432']) {
      await expect(loadConfig(production({ DATABASE_URL: wrong }))).rejects.toThrow(
        'must be an address like',
      );
    }
  });

  it.each(['postgres:///app?host=/var/run/postgresql', 'postgres://db.example/app?port=5433'])(
    'does not take the place of a database from a parameter: %s',
    async (DATABASE_URL) => {
      await expect(loadConfig({ DATA_DIR, DATABASE_URL })).rejects.toThrow(
        'must name its host and port before the database, not as parameters',
      );
    },
  );

  it.each([
    'DATABASE_URL',
    'LEDGER_NETWORK',
    'LEDGER_SECRET_KEY',
    'PUBLIC_URL',
    'APPROVALS',
    'APP_SECRET',
    'AUTH_SECRETS',
    'RAMP_EXCHANGE_RATES',
    'TRUSTED_PROXY_HOPS',
  ])('names %s when it is missing in production', async (name) => {
    const { [name]: _left, ...rest } = production() as Record<string, string>;
    await expect(loadConfig(rest)).rejects.toThrow(name);
  });

  it.each([
    ['APP_SECRET', 'a'.repeat(40)],
    ['AUTH_SECRETS', 'please-change-me-before-production-0123'],
    ['AUTH_SECRETS', 'correct horse battery Password staple'],
    ['AUTH_SECRETS', 'too short'],
    ['AUTH_SECRETS', 'abcdefghijklmnopqrstuvwxyz0123456789'],
    ['AUTH_SECRETS', 'k3Xq9ZpL0vTb7WnRk3Xq9ZpL0vTb7WnRk3Xq9'],
    ['METRICS_TOKEN', 'a'.repeat(40)],
    ['DATABASE_URL', 'postgres://app:app@127.0.0.1/app'],
    ['DATABASE_DIRECT_URL', 'postgres://app:default@127.0.0.1/app'],
    ['DATABASE_READ_URL', 'postgres://app:default@127.0.0.1/app'],
  ])('refuses a made-up %s in production', async (name, value) => {
    const refusal = loadConfig(production({ [name]: value }));
    await expect(refusal).rejects.toThrow(name);
    await expect(refusal).rejects.not.toThrow(value);
  });

  it('says of a secret that is weak who makes a better one, and how', async () => {
    const adviceAbout = (overrides: Record<string, string>) =>
      loadConfig(production(overrides)).then(String, String);
    const password = await adviceAbout({ DATABASE_URL: 'postgres://app:app@127.0.0.1/app' });
    expect(password).toMatch(/DATABASE_URL has a password that .*give its role a random one.*-hex 32/);
    const issued = await adviceAbout({ RAMP_API_KEY: 'short' });
    expect(issued).toMatch(/RAMP_API_KEY looks made up, or has fewer than 12 characters.*its issuer/);
    for (const advice of [password, issued]) expect(advice).not.toContain('32 random bytes');
  });

  it.runIf(process.platform === 'linux')(
    'says so of a data folder that can not be made, which is below /proc',
    async () => {
      await expect(loadConfig({ DATA_DIR: '/proc/marketplace' })).rejects.toMatchObject({
        code: 'ENOENT',
        syscall: 'mkdir',
      });
    },
  );

  it('refuses one secret for two purposes in production', async () => {
    const one = strong();
    await expect(loadConfig(production({ APP_SECRET: one, AUTH_SECRETS: one }))).rejects.toThrow('the same');
  });

  it('lets APP_SECRET be one of the sealing secrets, so that another can take its place', async () => {
    const [app, fresh] = [strong(), strong()];
    const secrets = { APP_SECRET: app, SEALING_SECRETS: `${app},${fresh}` };
    expect((await loadConfig(production(secrets))).sealingSecrets).toEqual([app, fresh, app]);
    expect((await loadConfig(production({ APP_SECRET: app }))).sealingSecrets).toEqual([app]);
    const shared = production({ APP_SECRET: app, AUTH_SECRETS: fresh, SEALING_SECRETS: fresh });
    await expect(loadConfig(shared)).rejects.toThrow('AUTH_SECRETS and SEALING_SECRETS are the same');
  });

  it.each([
    ['RAMP_CALLBACK_SECRETS', 'a'.repeat(40), 'looks made up'],
    ['SEALING_SECRETS', 'a'.repeat(40), 'looks made up'],
    ['RAMP_API_KEY', 'default-api-key-0123', 'looks made up'],
    ['AUTH_JWKS_URL', 'http://login.example/keys', 'clear text'],
    ['AUTH_JWKS_URL', 'http://10.1.2.3/keys', 'clear text'],
    ['AUTH_JWKS_URL', 'https://169.254.169.254/keys', 'link-local'],
    ['AUTH_JWKS_URL', 'https://[fe80::1]/keys', 'link-local'],
    ['AUTH_JWKS_URL', 'https://[::ffff:169.254.169.254]/keys', 'link-local'],
    ['AUTH_JWKS_URL', 'http://2852039166/keys', 'link-local'],
    ['AUTH_JWKS_URL', 'https://0xa9.0xfe.43518/keys', 'link-local'],
    ['AUTH_JWKS_URL', 'https://[::169.254.169.254]/keys', 'link-local'],
    ['AUTH_JWKS_URL', 'https://[64:ff9b::169.254.169.254]/keys', 'link-local'],
    ['AUTH_JWKS_URL', 'https://[fd00:ec2::254]/keys', 'link-local'],
    ['AUTH_JWKS_URL', 'https://metadata.google.internal./keys', 'link-local'],
    ['AUTH_JWKS_URL', 'http://0.0.0.0/keys', 'clear text'],
    ['AUTH_JWKS_URL', 'https://me:hunter2@login.example/keys', 'no user and password'],
    ['PUBLIC_URL', 'https://me@api.example', 'no user and password'],
    ['PUBLIC_URL', 'https://example.com/marketplace', 'no path'],
    ['PUBLIC_URL', 'https://api.example?v=1', 'no path'],
    ['DATABASE_URL', DATABASE, 'clear text'],
    ['DATABASE_URL', `${DATABASE}?sslmode=prefer`, 'clear text'],
    ['DATABASE_URL', 'postgres://app:%zz@db.example/app', '%25'],
    ['DATABASE_MIGRATION_URL', DATABASE.replace('db.example', '127.0.0.1,db.example'), 'clear text'],
    ['DATABASE_READ_URL', DATABASE.replace('db.example', '127.0.0.1,db.example'), 'clear text'],
    ['DATABASE_READ_URL', `${DATABASE.replace('db.example', '169.254.0.7')}?sslmode=require`, 'link-local'],
    ['DATABASE_DIRECT_URL', `${DATABASE.replace('db.example', '169.254.0.7')}?sslmode=require`, 'link-local'],
    ['ALLOWED_ORIGINS', 'http://app.example', 'clear text'],
    ['RAMP_URL', 'http://ramp.example', 'clear text'],
    ['INDEXER_URL', 'http://indexer.internal', 'clear text'],
    ['PUBLIC_URL', 'http://api.example', 'clear text'],
    ['ALLOWED_ORIGINS', 'https://app.example,*', 'any page'],
    ['LOG_LEVEL', 'silent', 'would not be seen'],
  ])('refuses %s=%s in production', async (name, value, reason) => {
    const { AUTH_SECRETS: secret, ...rest } = production({ [name]: value });
    const settings = name === 'AUTH_JWKS_URL' ? rest : { ...rest, AUTH_SECRETS: secret };
    const refusal = loadConfig({
      RAMP_PROVIDER: 'http',
      RAMP_NAME: 'ramp',
      RAMP_URL: 'https://ramp.example',
      RAMP_API_KEY: strong(),
      RAMP_CALLBACK_SECRETS: strong(),
      ...settings,
      RAMP_EXCHANGE_RATES: '',
    });
    await expect(refusal).rejects.toThrow(new RegExp(`^  ${name} .*${reason}`, 'm'));
  });

  it('takes the credentials that a ramp provider and an indexer issue, in the form that they have', async () => {
    const issued = { RAMP_API_KEY: 'rk_live_4f8Qz1Lw9T', INDEXER_TOKEN: 'ix-7Hq2mVb9Kc0R' };
    const settings = production({
      ...issued,
      RAMP_PROVIDER: 'http',
      RAMP_NAME: 'ramp',
      RAMP_URL: 'https://ramp.example',
      RAMP_CALLBACK_SECRETS: strong(),
      RAMP_EXCHANGE_RATES: '',
      INDEXER_URL: 'https://indexer.example',
    });
    await expect(loadConfig(settings)).resolves.toMatchObject(issued);
  });

  it('takes clear text in production on this machine, and at hosts that are named', async () => {
    const settings = production({
      DATABASE_URL: DATABASE.replace('db.example', 'api.internal'),
      DATABASE_DIRECT_URL: DATABASE.replace('db.example', '127.0.0.1'),
      ALLOWED_ORIGINS: 'http://localhost:3000',
      INDEXER_URL: 'http://127.0.0.1:9000',
      PUBLIC_URL: 'http://api.internal',
      PLAIN_TEXT_HOSTS: 'api.internal',
    });
    await expect(loadConfig(settings)).resolves.toMatchObject({ PLAIN_TEXT_HOSTS: ['api.internal'] });
  });

  it.each([
    ['RAMP_CALLBACK_SECRETS', 'AUTH_SECRETS'],
    ['RAMP_API_KEY', 'APP_SECRET'],
    ['RAMP_API_KEY', 'RAMP_CALLBACK_SECRETS'],
    ['DATABASE_URL', 'AUTH_SECRETS'],
    ['DATABASE_MIGRATION_URL', 'DATABASE_URL'],
  ])('refuses one secret for %s and %s in production', async (one, other) => {
    const secret = strong();
    const value = (name: string) =>
      name.startsWith('DATABASE_')
        ? `postgres://user:${encodeURIComponent(secret)}@db.example/app?sslmode=require`
        : secret;
    const refusal = loadConfig({
      ...production({ RAMP_EXCHANGE_RATES: '' }),
      RAMP_PROVIDER: 'http',
      RAMP_NAME: 'ramp',
      RAMP_URL: 'https://ramp.example',
      RAMP_API_KEY: strong(),
      RAMP_CALLBACK_SECRETS: strong(),
      [one]: value(one),
      [other]: value(other),
    });
    await expect(refusal).rejects.toThrow('are the same');
    await expect(refusal).rejects.not.toThrow(secret);
  });

  it('refuses the same callback secret twice in production', async () => {
    const secret = strong();
    const settings = production({
      RAMP_PROVIDER: 'http',
      RAMP_NAME: 'ramp',
      RAMP_URL: 'https://ramp.example',
      RAMP_API_KEY: strong(),
      RAMP_CALLBACK_SECRETS: `${secret},${secret}`,
      RAMP_EXCHANGE_RATES: '',
    });
    await expect(loadConfig(settings)).rejects.toThrow('RAMP_CALLBACK_SECRETS holds the same secret twice');
  });

  it('shows no metrics without a token in production, unless asked to', async () => {
    expect(await loadConfig(production())).toMatchObject({ METRICS_ACCESS: 'token' });
    const open = production({ METRICS_ACCESS: 'private' });
    expect(await loadConfig(open)).toMatchObject({ METRICS_ACCESS: 'private' });
    expect(await loadConfig({ DATA_DIR })).toMatchObject({ METRICS_ACCESS: 'private' });
  });

  it('names what is missing in production together with what is wrong', async () => {
    const production = loadConfig({ DATA_DIR, NODE_ENV: 'production', PORT: 'eighty' });
    await expect(production).rejects.toThrow(/PORT[^]*DATABASE_URL[^]*AUTH_SECRETS/);
  });

  it('never repeats a password that an address holds', async () => {
    const message = await loadConfig({ DATA_DIR, INDEXER_URL: 'ftp://me:hunter2@indexer.example' }).then(
      () => '',
      (error: Error) => error.message,
    );
    expect(message).toContain('INDEXER_URL');
    expect(message).toContain('indexer.example');
    expect(message).not.toContain('hunter2');
  });

  it('keeps no secrets of its own when all are given', async () => {
    const brought = {
      DATA_DIR: join(DATA_DIR, 'untouched'),
      DATABASE_URL: 'postgres://user:word@db.example/app',
      LEDGER_SECRET_KEY: generateSecretKey(randomBytes),
      APP_SECRET: 'a'.repeat(32),
      AUTH_SECRETS: 'b'.repeat(32),
    };
    const read = { ...brought, AUTH_SECRETS: [brought.AUTH_SECRETS], databasePassword: null };
    expect(await loadConfig(brought)).toMatchObject(read);
    await expect(stat(brought.DATA_DIR)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('keeps generated secrets for their owner alone', async () => {
    const { mode } = await loadConfig({ DATA_DIR }).then(() => stat(join(DATA_DIR, 'secrets.json')));
    expect(mode & 0o777).toBe(0o600);
  });

  it.each([
    ['DATABASE_DIRECT_URL', 'postgres://user:word@db.example/app', 'without DATABASE_URL'],
    ['DATABASE_MIGRATION_URL', 'postgres://user:word@db.example/app', 'without DATABASE_URL'],
    ['DATABASE_READ_URL', 'postgres://user:word@db.example/app', 'without DATABASE_URL'],
    ['INDEXER_TOKEN', 'a token', 'without INDEXER_URL'],
    ['RAMP_NAME', 'ramp', 'with RAMP_PROVIDER=manual'],
    ['RAMP_URL', 'https://ramp.example', 'with RAMP_PROVIDER=manual'],
    ['RAMP_API_KEY', 'a key', 'with RAMP_PROVIDER=manual'],
    ['RAMP_CALLBACK_SECRETS', 'c'.repeat(32), 'with RAMP_PROVIDER=manual'],
    ['RAMP_REQUESTS_PER_SECOND', '5', 'with RAMP_PROVIDER=manual'],
    ['RAMP_EXCHANGE_RATES', 'KES=0.02', 'with RAMP_PROVIDER=http', HTTP_RAMP],
    ['RAMP_FEE_BPS', '100', 'with RAMP_PROVIDER=http', HTTP_RAMP],
    ['RAMP_QUOTE_SECONDS', '600', 'with RAMP_PROVIDER=http', HTTP_RAMP],
    ['APPROVAL_ABOVE_TONNES', '500', 'with APPROVALS=off'],
    ['APPROVAL_ABOVE_KILOGRAMS', '500', 'with APPROVALS=off'],
    ['APPROVAL_SECONDS', '600', 'with APPROVALS=off'],
    ['DATABASE_READ_MAX_LAG_SECONDS', '10', 'without DATABASE_READ_URL'],
  ])(
    'refuses %s=%s, which would be ignored',
    async (name, value, reason, beside: Partial<typeof HTTP_RAMP> = {}) => {
      await expect(loadConfig({ DATA_DIR, ...beside, [name]: value })).rejects.toThrow(
        new RegExp(`^  ${name} is set.* ${reason}`, 'm'),
      );
    },
  );

  it('takes the settings that belong to what is chosen', async () => {
    const manual = { RAMP_PROVIDER: 'manual', RAMP_EXCHANGE_RATES: 'KES=0.02', RAMP_FEE_BPS: '100' };
    await expect(loadConfig({ DATA_DIR, ...manual })).resolves.toMatchObject({ RAMP_FEE_BPS: 100 });
    const http = { ...HTTP_RAMP, RAMP_REQUESTS_PER_SECOND: '5' };
    await expect(loadConfig({ DATA_DIR, ...http })).resolves.toMatchObject({ RAMP_REQUESTS_PER_SECOND: 5 });
    const approvals = { APPROVALS: 'required', APPROVAL_ABOVE_TONNES: '500' };
    await expect(loadConfig({ DATA_DIR, ...approvals })).resolves.toMatchObject({
      APPROVAL_ABOVE_TONNES: 500,
    });
  });

  it.each(['KES=0.02,KES=0.2', 'KES=0.02,USD=2.5,KES=0.02'])(
    'refuses the rates %s, of which one would be overwritten',
    async (rates) => {
      await expect(loadConfig({ DATA_DIR, RAMP_EXCHANGE_RATES: rates })).rejects.toThrow(
        /RAMP_EXCHANGE_RATES must name each currency once/,
      );
    },
  );

  it('refuses a rate of no currency, for which no client could ask', async () => {
    await expect(loadConfig({ DATA_DIR, RAMP_EXCHANGE_RATES: 'KES=0.02,UXG=0.0007' })).rejects.toThrow(
      /RAMP_EXCHANGE_RATES must name currencies of ISO 4217/,
    );
  });

  it.each(['UK', 'XX', 'ke', 'KEN'])(
    'refuses %s, which is no country, in RECEIPT_COUNTRY_CODE',
    async (code) => {
      await expect(loadConfig({ DATA_DIR, RECEIPT_COUNTRY_CODE: code })).rejects.toThrow(
        /RECEIPT_COUNTRY_CODE must be a country of ISO 3166-1/,
      );
    },
  );

  it.each(['https://app.example/', 'https://app.example:443', 'https://me@app.example', 'app.example:443'])(
    'refuses %s in ALLOWED_ORIGINS, which is the origin of no page',
    async (entry) => {
      await expect(loadConfig({ DATA_DIR, ALLOWED_ORIGINS: entry })).rejects.toThrow(
        /ALLOWED_ORIGINS must be/,
      );
    },
  );

  it.each(['', 'Ramp', 'https://ramp.example/v1', 'a name', 'x'.repeat(65), MANUAL_PROVIDER])(
    'refuses "%s" in RAMP_NAME',
    async (name) => {
      await expect(loadConfig({ DATA_DIR, ...HTTP_RAMP, RAMP_NAME: name })).rejects.toThrow(
        /^  RAMP_NAME must /m,
      );
    },
  );

  it('refuses a ramp provider without its name, address, key and secret, and example rates in production', async () => {
    const http = loadConfig({ DATA_DIR, RAMP_PROVIDER: 'http' });
    await expect(http).rejects.toThrow(
      /RAMP_NAME must be set[^]*RAMP_URL[^]*RAMP_API_KEY[^]*RAMP_CALLBACK_SECRETS/,
    );
    const production = loadConfig({ DATA_DIR, NODE_ENV: 'production' });
    await expect(production).rejects.toThrow('RAMP_EXCHANGE_RATES');
    for (const rates of ['KES', 'KES=0', 'KES=-1', 'KES=1e3', 'kes=1', 'KES=1,,']) {
      await expect(loadConfig({ DATA_DIR, RAMP_EXCHANGE_RATES: rates }), rates).rejects.toThrow(
        'RAMP_EXCHANGE_RATES',
      );
    }
    const { RAMP_EXCHANGE_RATES } = await loadConfig({ DATA_DIR, RAMP_EXCHANGE_RATES: 'KES=0.02, USD=2.5' });
    expect(RAMP_EXCHANGE_RATES).toEqual({ KES: '0.02', USD: '2.5' });
  });

  it('takes origins as browsers and apps write them', async () => {
    const ALLOWED_ORIGINS = 'https://app.example, http://localhost:3000, capacitor://localhost';
    await expect(loadConfig({ DATA_DIR, ALLOWED_ORIGINS })).resolves.toMatchObject({
      ALLOWED_ORIGINS: ['https://app.example', 'http://localhost:3000', 'capacitor://localhost'],
    });
  });

  it('refuses two ways of verifying tokens', async () => {
    const both = { DATA_DIR, AUTH_SECRETS: 'x'.repeat(32), AUTH_JWKS_URL: 'https://id.example/keys' };
    await expect(loadConfig(both)).rejects.toThrow('AUTH_JWKS_URL');
  });
});

describe('documents', () => {
  it.each(['.env.example', 'docs/settings.md'])('%s names every setting with its default', async (file) => {
    const text = await readFile(new URL(`../../../${file}`, import.meta.url), 'utf8');
    for (const [name, setting] of Object.entries(SETTINGS)) {
      expect(text, name).toContain(name);
      expect(text, `description of ${name}`).toContain(setting.description);
      if (setting.default !== null) expect(text, `default of ${name}`).toContain(setting.default);
    }
  });

  it('say the numbers that each rule takes: the ends of the range, and nothing beyond', async () => {
    const page = await readFile(new URL('../../../docs/settings.md', import.meta.url), 'utf8');
    const schemas = new Map<string, z.ZodType>(
      Object.entries(SETTINGS).map(([name, { schema }]) => [name, schema]),
    );
    const ranges = [...page.matchAll(/^\| `(\w+)` +\|[^|]*\| (\d+) to (\d+) +\|/gm)];
    expect(ranges.length).toBeGreaterThan(20);
    for (const [, name = '', least = '', most = ''] of ranges) {
      const takes = (value: string) => schemas.get(name)?.safeParse(value).success;
      const beyond = [BigInt(least) - 1n, BigInt(most) + 1n].map(String);
      expect([least, most, ...beyond].map(takes), name).toEqual([true, true, false, false]);
    }
  });
});
