/**
 * Every code block of README.md, CONTRIBUTING.md and docs/ works: it is run, or checked as far as its
 * language allows. A block that can't be run says so in its fence. docs/tour.md has its own test.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse as parseDotenv } from 'dotenv';
import { transform } from 'esbuild';
import { getOperationAST, parse } from 'graphql';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { LEDGER_SETTINGS } from '../../../src/config/ledgerSettings.ts';
import { SETTINGS } from '../../../src/config/settings.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { watchRetirements } from '../../../src/resolvers/operations/watchRetirements.ts';
import { custodySecretKey } from '../../../devnet/platform.ts';
import { onlyWith } from '../../../devnet/runToEnd.ts';
import { documentedBlocks, ROOT, type Block } from '../../support/docs/blocks.ts';
import { buy, developer, mutate, payloadOf, projectInput } from '../../support/http/creditTrade.ts';
import { auth, startMarketplace, type Marketplace, type TestCaller } from '../../support/http/marketplace.ts';
import { depositedCashOut } from '../../support/warehouse.ts';
import { createEmbeddedHolder } from '../../support/wallets/embeddedWallets.ts';

/** Reasons for not running a block. The test refuses other reasons, and reasons that no block has. */
const REASONS = [
  'it comes after the changes above',
  'it installs',
  'it is the whole suite',
  'it needs Go',
  'it needs an account of the testnet',
  'it needs npm run dev:stellar',
  'it takes minutes',
];
/** Each command loads the whole program, and the compiler much of it, so a busy machine needs time. */
const TIMEOUT_MS = 180_000;
/** Languages that are not code. */
const PICTURES = ['mermaid', 'text'];

/** The sender of an operation, by operation name; an operator sends the others. */
const CALLERS: Readonly<Record<string, TestCaller | null>> = {
  CreatedProject: null,
  Whose: null,
  Give: { role: 'buyer', subject: 'acme' },
  Buy: { role: 'buyer', subject: 'acme' },
  PurchaseProof: { role: 'buyer', subject: 'acme' },
  // Only an administrator may end all tokens issued so far. Their subject is not a caller of this test.
  EndTokens: { role: 'admin', subject: 'ada' },
};
const OPERATOR: TestCaller = { role: 'operator', subject: 'ops' };

let blocks: Block[];
let marketplace: Marketplace;
let folder: string;
/** Values of the variables in the blocks. */
let variables: Record<string, string>;

beforeAll(async () => {
  blocks = await documentedBlocks();
  marketplace = await startMarketplace();
  await watchRetirements(marketplace.app.dependencies);
  variables = await makeSomethingToRead();
  folder = await folderOfProject();
});
afterAll(async () => {
  await marketplace.stop();
  await rm(folder, { recursive: true, force: true });
});

/**
 * Makes a project with a serial number that the docs name, tonnes of it bought, retired and in a wallet, and
 * a payout to make.
 */
async function makeSomethingToRead() {
  const { network } = marketplace;
  const created = await mutate<{ tokenAddress: string; project: { id: string } }>(
    marketplace,
    ['createProject', 'CreateProjectInput', 'tokenAddress project { id }'],
    projectInput({ verificationBodyRef: 'VCS-1' }),
    developer,
  );
  const { tokenAddress, project } = payloadOf(created);
  const purchaseId = await buy(marketplace, 'acme', tokenAddress, 200);
  const acme = { role: 'buyer', subject: 'acme' } as const;
  const retire = ['retire', 'RetireInput', 'retirement { state }'] as const;
  payloadOf(
    await mutate(
      marketplace,
      retire,
      { buyerId: 'acme', buyerName: 'Acme', tokenAddress, amountCO2e: 50 },
      acme,
    ),
  );
  const price = { projectId: project.id, pricePerTonne: { amount: '12.50', currency: 'EUR' } };
  payloadOf(
    await mutate(marketplace, ['setProjectPrice', 'SetProjectPriceInput', '__typename'], price, developer),
  );
  const holder = createEmbeddedHolder();
  await network.transfer(tokenAddress, holder.address, toBaseUnits(10n));
  const { providerSessionId: sessionId } = await depositedCashOut(marketplace.app);
  return { id: project.id, purchaseId, tokenAddress, holderAddress: holder.address, sessionId };
}

/** A folder that looks like the project's, with its own data. */
async function folderOfProject(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'blocks-'));
  for (const name of [
    'package.json',
    'node_modules',
    'tsconfig.json',
    'src',
    'demo',
    'examples',
    'drizzle',
  ]) {
    await symlink(fileURLToPath(new URL(name, ROOT)), join(made, name));
  }
  await mkdir(join(made, '.data'));
  return made;
}

const of = (...languages: string[]) =>
  blocks.filter(({ language, note }) => languages.includes(language) && !note.startsWith('not-run: '));

it('is run, or says why not', () => {
  const known = ['sh', 'graphql', 'json', 'sql', 'ts', 'dotenv', ...PICTURES];
  expect(blocks.filter(({ language }) => !known.includes(language))).toEqual([]);
  const notes = blocks.filter(({ note }) => note !== '');
  const reasons = notes.map(({ note }) => note.replace(/^not-run: /, ''));
  expect([...new Set(reasons)].sort()).toEqual(REASONS);
  // Most of them are the recipes' commands, one for each recipe.
  expect(reasons.length).toBeLessThanOrEqual(16);
});

it('is the only thing between fences', () => {
  for (const { text, where } of blocks) expect(text, where).not.toMatch(/^ *```/m);
});

describe('GraphQL', () => {
  it('is executed, with data and without errors', async () => {
    const operations = of('graphql');
    expect(operations.length).toBeGreaterThan(5);
    for (const { text, where } of operations) {
      const operation = getOperationAST(parse(text));
      const given = (operation?.variableDefinitions ?? []).map(({ variable }) => variable.name.value);
      const name = operation?.name?.value ?? '';
      const { data, errors } = await marketplace.send(
        text,
        Object.fromEntries(given.map((variable) => [variable, variables[variable]])),
        name in CALLERS ? CALLERS[name] : OPERATOR,
      );
      expect(errors, where).toEqual([]);
      for (const [field, answer] of Object.entries(data ?? {}))
        expect(answer, `${where} ${field}`).not.toBeNull();
    }
  });
});

describe('JSON', () => {
  it('is an entry of the log, with the fields that the server sends', async () => {
    // The blocks of partners have their own test, test/unit/docs/partners.test.ts.
    const [entry, ...others] = of('json').filter(({ page }) => page !== 'docs/partners.md');
    expect(others).toEqual([]);
    const address = marketplace.url.replace(/graphql$/, 'logs/retirements/tile/entries/000.p/1');
    await expect.poll(async () => (await fetch(address)).status).toBe(200);
    // The first two bytes are the entry's length.
    const sent = Buffer.from(await (await fetch(address)).arrayBuffer()).subarray(2);
    const fieldsOf = (text: string) => Object.keys(JSON.parse(text) as object);
    expect(fieldsOf(entry?.text ?? '')).toEqual(fieldsOf(sent.toString()));
  });
});

describe('shell', () => {
  /**
   * Runs the text in a shell.
   * @returns the output
   */
  async function run(text: string, input: string): Promise<string> {
    const { host, hostname, port } = new URL(marketplace.url);
    const shell = spawn('bash', ['-c', `set -eo pipefail\n${text.replaceAll('localhost:4000', host)}`], {
      cwd: folder,
      env: onlyWith({
        HOST: hostname,
        PORT: port,
        DATABASE_URL: marketplace.database.url,
        AUTH_SECRETS: auth.secret,
        AUTH_ISSUER: auth.issuer,
        AUTH_AUDIENCE: auth.audience,
        LEDGER_SECRET_KEY: custodySecretKey,
        TOKEN: variables['tokenAddress'] ?? '',
      }),
    });
    let output = '';
    for (const stream of [shell.stdout, shell.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
    }
    shell.stdin.end(input);
    const [code] = (await once(shell, 'close')) as [number | null];
    expect(code, `${text}\n${output}`).toBe(0);
    return output;
  }

  it('ends well', { timeout: TIMEOUT_MS }, async () => {
    const prepared = await marketplace.send<{
      prepareRetirement: { holderAct: { unsigned: { payload: string } } };
    }>(
      `mutation ($input: PrepareRetirementInput!) {
        prepareRetirement(input: $input) { holderAct { unsigned { payload } } } }`,
      {
        input: {
          tokenAddress: variables['tokenAddress'],
          holderAddress: variables['holderAddress'],
          amountCO2e: 1,
          beneficiary: 'Acme',
          note: '',
          idempotencyKey: randomUUID(),
        },
      },
      OPERATOR,
    );
    // A block reads from the terminal the payload that a wallet signs.
    const payload = prepared.data?.prepareRetirement.holderAct.unsigned.payload ?? '';
    const scripts = of('sh').filter(({ page }) => page !== 'docs/tour.md');
    expect(scripts.length).toBeGreaterThan(3);
    for (const { text } of scripts) await run(text, payload);
  });
});

describe('SQL', () => {
  it('is accepted by PostgreSQL', async () => {
    const suffix = randomUUID().slice(0, 8);
    const own = (text: string) =>
      text.replaceAll(/\b(?:marketplace_owner|marketplace_application|marketplace|app)\b/g, `$&_${suffix}`);
    const server = postgres(`${inject('postgresUrl')}/postgres`, { max: 1, onnotice: () => {} });
    const statements = of('sql').flatMap(({ text }) => text.split(';').filter((part) => part.trim() !== ''));
    expect(statements.length).toBeGreaterThan(5);
    try {
      await server.unsafe(own('CREATE ROLE app'));
      // A reload would make the server of all tests wait for missing standbys.
      const reloads = (statement: string) => statement.includes('pg_reload_conf');
      for (const statement of statements) if (!reloads(statement)) await server.unsafe(own(statement));
    } finally {
      await server.unsafe('ALTER SYSTEM RESET ALL');
      await server.unsafe(own('DROP DATABASE IF EXISTS marketplace'));
      for (const role of ['marketplace_owner', 'marketplace_application', 'app']) {
        await server.unsafe(own(`DROP ROLE IF EXISTS ${role}`));
      }
      await server.end();
    }
  });
});

describe('settings', () => {
  it('have names that the server knows', () => {
    const names = of('dotenv').flatMap(({ text }) => Object.keys(parseDotenv(text)));
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !(name in SETTINGS) && !(name in LEDGER_SETTINGS))).toEqual([]);
  });
});

describe('TypeScript', () => {
  const pathIn = (text: string) => /^\/\/ ((?:src|test)\/[\w./]+)$/m.exec(text.split('\n', 1)[0] ?? '')?.[1];
  const isWhole = ({ text }: Block) => {
    const path = pathIn(text);
    return path !== undefined && !existsSync(new URL(path, ROOT));
  };

  it('is well formed, also where it is a part of a file', async () => {
    const texts = blocks.filter(({ language }) => language === 'ts');
    expect(texts.length).toBeGreaterThan(10);
    for (const { text, where } of texts) {
      for (const part of text.split(/\n(?=\/\/ in )/)) {
        const tried = [
          part,
          `async () => {${part}}`,
          `({${part}})`,
          `[${part}]`,
          `interface Part {${part}}`,
        ].map((code) => transform(code, { loader: 'ts', logLevel: 'silent' }));
        await expect(Promise.any(tried), `${where}\n${part}`).resolves.toBeDefined();
      }
    }
  });

  it('has the right types, where it is a whole file', { timeout: TIMEOUT_MS }, async () => {
    const files = of('ts').filter(isWhole);
    expect(files.length).toBeGreaterThan(3);
    const paths = new Set(files.map(({ text }) => pathIn(text)));
    // A folder below the project finds the packages.
    const made = fileURLToPath(new URL(`node_modules/.cache/docs-${randomUUID()}/`, ROOT));
    try {
      for (const { text } of files) {
        const path = pathIn(text) ?? '';
        const imports = text.replaceAll(
          /(from |import |import\()'(\.[^']+)'/g,
          (_all, before: string, name: string) => {
            const target = new URL(name, new URL(path, ROOT));
            const relative = target.pathname.slice(ROOT.pathname.length);
            return `${before}'${paths.has(relative) ? name : fileURLToPath(target)}'`;
          },
        );
        await mkdir(dirname(join(made, path)), { recursive: true });
        await writeFile(join(made, path), imports);
      }
      const config = {
        extends: fileURLToPath(new URL('tsconfig.json', ROOT)),
        include: ['src', 'test', fileURLToPath(new URL('src/**/*.d.ts', ROOT))],
      };
      await writeFile(join(made, 'tsconfig.json'), JSON.stringify(config));
      const tsc = fileURLToPath(new URL('node_modules/typescript/bin/tsc', ROOT));
      const compiler = spawn(process.execPath, [tsc, '-p', made]);
      let output = '';
      compiler.stdout.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
      const [code] = (await once(compiler, 'close')) as [number | null];
      expect(code, output).toBe(0);
    } finally {
      await rm(made, { recursive: true, force: true });
    }
  });
});
