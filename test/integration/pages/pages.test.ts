/**
 * The public pages over HTTP and, if Chromium is installed, in a browser.
 */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { eq } from 'drizzle-orm';
import jsQR from 'jsqr';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projects } from '../../../src/db/tables/index.ts';
import { NO_APPROVALS } from '../../../src/resolvers/approvals/approvalPolicy.ts';
import { beneficiaryPath } from '../../../src/pages/records.ts';
import { parseCheckpoint, type SignedNote } from '../../../src/transparency/checkpoint.ts';
import { leastSetting } from '../../support/leastSetting.ts';
import { seedRecords } from '../../support/database/records.ts';
import { chromiumPath, openBrowser } from '../../support/http/browser.ts';
import { buyer, developer, mutate, payloadOf, projectInput } from '../../support/http/creditTrade.ts';
import { testLimits } from '../../support/http/httpServer.ts';
import { startMarketplace, type Marketplace } from '../../support/http/marketplace.ts';
import { testConsole } from './consoleCases.ts';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const VERIFY_CERTIFICATE = fileURLToPath(
  new URL('../../../examples/verify-retirement/verifyCertificate.mjs', import.meta.url),
);
const HOSTILE = {
  script: '"><script>document.title = "owned"</script><img src=x onerror="document.title = \'owned\'">',
  bidi: '\u{202e}gnp.exe\u{2066}Acme',
  long: 'W'.repeat(10_000),
  formula: '=HYPERLINK("http://evil.test")',
  dot: '.',
  dots: '..',
  file: 'Acme Shipping.csv',
  manyBytes: 'Ł'.repeat(100),
  unseen: '\u{200b}',
  likeAnId: `C${'A'.repeat(55)}-7`,
} as const;
/** Time for the start of a browser on a busy machine. */
const SLOW_MS = 120_000;

/** Some tests of the console require approvals for a while. */
const approvalPolicy = { ...NO_APPROVALS };

let market: Marketplace;
let origin: string;
let tokenAddress: string;
/** The token of seeded records, which is not on the network. */
let foreignToken: string;

beforeAll(async () => {
  // The pages' queries obey the limits on clients, so they must fit into the smallest possible limits.
  const operations = {
    MAX_OPERATION_COST: leastSetting('MAX_OPERATION_COST'),
    MAX_OPERATION_DEPTH: leastSetting('MAX_OPERATION_DEPTH'),
  };
  market = await startMarketplace({
    withIndexer: false,
    approvalPolicy,
    limits: { ...testLimits(), ...operations },
  });
  origin = new URL(market.url).origin;
  const now = Math.floor(Date.now() / 1000);
  const [seeded] = await seedRecords(market.database.handle, {
    // Nothing is retired of the last one.
    projects: [...Array.from({ length: 22 }, (_, i) => 2020 - i), 1992].map((vintageYear) => ({
      countryCode: 'BR',
      vintageYear,
    })),
    records: [
      ...Object.values(HOSTILE).map((beneficiary, i) => ({
        project: 0,
        timestamp: now - 1000 + i,
        tonnes: 3,
        beneficiary,
      })),
      // In more vintages than a page of totals has by default, and on more days than it can have.
      ...Array.from({ length: 105 }, (_, i) => ({
        project: 1 + (i % 21),
        timestamp: now - (i + 1) * 86_400,
        tonnes: 2,
        beneficiary: 'Many Parts',
      })),
    ],
  });
  foreignToken = seeded?.tokenAddress ?? '';
  const project = payloadOf<{ tokenAddress: string }>(
    await mutate(
      market,
      ['createProject', 'CreateProjectInput', 'tokenAddress'],
      projectInput({ verificationBodyRef: 'VCS-77' }),
      developer,
    ),
  );
  tokenAddress = project.tokenAddress;
  const purchase = { buyerId: 'acme', tokenAddress, amountCO2e: 900 };
  payloadOf(await mutate(market, ['purchase', 'PurchaseInput', 'purchase { id }'], purchase, buyer('acme')));
  await retire(120, 'Acme Shipping');
}, SLOW_MS);
afterAll(() => market.stop());

async function retire(tonnes: number, buyerName: string): Promise<string> {
  const input = { buyerId: 'acme', tokenAddress, amountCO2e: tonnes, buyerName, note: 'for 2025' };
  const selection = 'retirement { recordIndex txHash }';
  const answer = await mutate<{ retirement: { recordIndex: number; txHash: string } }>(
    market,
    ['retire', 'RetireInput', selection],
    input,
    buyer('acme'),
  );
  return payloadOf(answer).retirement.txHash;
}

async function get(path: string, init: RequestInit = {}) {
  const response = await fetch(`${origin}${path}`, { redirect: 'manual', ...init });
  return { response, status: response.status, text: await response.text() };
}

/** The status for a request target that fetch would not send unchanged. */
function statusOf(path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(origin);
    const request = httpRequest({ hostname, port, path, headers: { accept: 'text/html' } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on('error', reject);
    request.end();
  });
}

const certificate = () => `/retirements/${tokenAddress}-0`;

describe('pages', () => {
  it('answer each address with a page of modest size, from this origin alone, without inline code or style', async () => {
    const paths = [
      '/',
      '/projects',
      '/projects/VCS-77-2024',
      certificate(),
      `/verify?q=${tokenAddress}-0`,
      '/beneficiaries/Acme%20Shipping',
      '/console',
    ];
    for (const path of paths) {
      const { response, status, text } = await get(path);
      expect([path, status]).toEqual([path, 200]);
      expect(text.length).toBeLessThan(100_000);
      expect(response.headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; style-src 'self'/,
      );
      expect(text).not.toMatch(/<[a-z][^>]*\s(?:style|on\w+)=|<style|<script>/);
      for (const [, link = ''] of text.matchAll(/(?:src|href)="([^"]*)"/g)) {
        expect(link.startsWith('/') || link.startsWith('#') || link.startsWith(origin)).toBe(true);
      }
    }
  });

  it('count tonnes with the unit’s symbol, which is the same for one and for many', async () => {
    for (const path of ['/', '/projects/VCS-77-2024', certificate(), '/beneficiaries/Acme%20Shipping']) {
      const { text } = await get(path);
      expect([path, /\d (?:tonnes|retirements)\b/.exec(text)]).toEqual([path, null]);
      expect(text).toMatch(/content="[^"]*\d t CO₂e/);
    }
  });

  it('let readers choose among the types of all projects, not only of those that are shown', async () => {
    const { text } = await get('/projects?country=FR');
    expect(text).toContain('No projects here.');
    expect([...text.matchAll(/<option value="([^"]*)"/g)].map(([, value]) => value)).toContain('REDD+');
  });

  it('let readers choose the vintage of a project of which nothing was retired', async () => {
    expect((await get('/projects?country=FR')).text).toContain('<option value="1992">1992</option>');
    expect((await get('/projects?vintage=1992')).text).toContain('<ol class="records projects">');
  });

  it('say of a filter and of a place in a list that there is none such, instead of showing another list or an empty one', async () => {
    const problem =
      'This address asks for something to filter by, or a place in the list, that does not exist.';
    for (const address of [
      '/?country=UK',
      '/?country=br',
      '/?vintage=late',
      '/?after=nowhere',
      '/projects?country=UK',
      '/projects?after=nowhere',
    ]) {
      const { text } = await get(address);
      expect([address, text.includes(problem)]).toEqual([address, true]);
      expect(text).not.toContain('No retirements here yet.');
      expect(text).not.toContain('class="tonnes"');
      // A cursor would make the script follow the same filter, and reload the page after each refusal.
      expect(text).not.toContain('data-cursor');
    }
    expect((await get('/?vintage=1990')).text).toContain('No retirements here yet.');
  });

  it('list as issued only projects whose credits are', async () => {
    const refused = { assetId: 'VCS-refused-2024', assetKey: 'vcs-refused-2024', deploySalt: 'refused' };
    const [row] = await market.database.handle.db
      .select()
      .from(projects)
      .where(eq(projects.tokenAddress, foreignToken));
    const copy = {
      ...row,
      ...refused,
      id: randomUUID(),
      tokenAddress: null,
      openedAt: null,
      state: 'REFUSED',
    };
    await market.database.handle.db.insert(projects).values(copy as typeof projects.$inferInsert);
    expect((await get('/projects')).text).not.toContain(refused.assetId);
    expect((await get(`/projects/${refused.assetId}`)).text).toContain('nothing was issued');
  });

  it('lead from a list to certificates whose beneficiary has no name that can be seen', async () => {
    const { text } = await get('/');
    const index = Object.keys(HOSTILE).indexOf('unseen');
    expect(text).toContain(
      `href="/retirements/${foreignToken}-${index}"><bdi class="foreign">(no name)</bdi></a>`,
    );
    const { text: page } = await get(`/retirements/${foreignToken}-${index}`);
    expect(page).toContain('retired for (no name) ·');
  });

  it('lead from no id of a certificate that does not exist to one whose beneficiary is called like it', async () => {
    const { status } = await get(`/retirements/${HOSTILE.likeAnId}`);
    expect(status).toBe(404);
  });

  it('keep assets for a year, under names of their content', async () => {
    const { text } = await get('/');
    const path = /href="(\/assets\/site\.[0-9a-f]{12}\.css)"/.exec(text)?.[1] ?? '';
    const { response } = await get(path, { headers: { 'accept-encoding': 'br' } });
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(response.headers.get('content-encoding')).toBe('br');
  });

  it('answer browsers about what is not there with a page, and programs with JSON', async () => {
    const page = await get('/nothing', { headers: { accept: 'text/html' } });
    expect([page.status, page.response.headers.get('content-type')]).toEqual([
      404,
      'text/html; charset=utf-8',
    ]);
    const json = await get('/nothing');
    expect([json.status, json.response.headers.get('content-type')]).toEqual([
      404,
      'application/json; charset=utf-8',
    ]);
    expect((await get(`/retirements/${tokenAddress}-99`)).status).toBe(404);
    expect((await get('/projects/%E0%A4%A')).status).toBe(404);
    // This target can't become a URL.
    expect(await statusOf('*:99999')).toBe(404);
  });

  it('answer 405 to a method that no page has', async () => {
    for (const method of ['PUT', 'DELETE', 'OPTIONS']) {
      const { status, response } = await get('/verify', { method });
      expect([status, response.headers.get('allow')], method).toEqual([405, 'GET, HEAD, POST']);
    }
  });

  it('find a retirement by beneficiary, asset id, serial number, hash and id', async () => {
    const { nodes } = (
      await market.send<{ retirementRecords: { nodes: { id: string; txHash: string }[] } }>(
        '{ retirementRecords(first: 1, filter: { beneficiaries: ["Acme Shipping"] }) { nodes { id txHash } } }',
      )
    ).data?.retirementRecords ?? { nodes: [] };
    const { id, txHash } = nodes[0] ?? { id: '', txHash: '' };
    for (const text of ['Acme Shipping', 'VCS-77-2024-000120', txHash, `${tokenAddress}-0`, id]) {
      expect((await get(`/?q=${encodeURIComponent(text)}`)).text).toContain(`href="${certificate()}"`);
    }
    expect((await get('/?q=vcs-77-2024')).text).toContain('href="/projects/VCS-77-2024"');
    expect((await get('/?q=VCS-77-2024-000121')).text).toContain('Nothing was found');
  });

  it('find a retirement by a beneficiary whose name is longer than an asset id', async () => {
    const { text } = await get(`/?q=${encodeURIComponent(HOSTILE.manyBytes)}`);
    const index = Object.keys(HOSTILE).indexOf('manyBytes');
    expect(text).toContain(`href="/retirements/${foreignToken}-${index}"`);
  });

  it('lead other spellings of a certificate to its one address', async () => {
    const id = Buffer.from(`RetirementRecord:${tokenAddress}:0`).toString('base64url');
    const { status, response } = await get(`/retirements/${id}.json`);
    expect([status, response.headers.get('location')]).toEqual([308, `${certificate()}.json`]);
  });

  it('say what the network says now: the same, or that it has no such record', async () => {
    expect((await get(certificate())).text).toContain('The network confirms this record');
    expect((await get(`/retirements/${foreignToken}-0`)).text).toContain('The network has no such record');
  });

  it('verify a file, and name the fact in it that was changed', async () => {
    await market.app.dependencies.logs.catchUp();
    const { text: file } = await get(`${certificate()}.json`);
    const check = (text: string) =>
      get('/verify', { method: 'POST', body: new URLSearchParams({ certificate: text }) });
    expect((await check(file)).text).toContain('This certificate holds');
    const forged = await check(file.replace('"tonnes": "120"', '"tonnes": "9120"'));
    expect(forged.text).toContain('This certificate does not hold');
    expect(forged.text).toContain('The file was changed: it differs in tonnes');
    for (const [name, change] of [
      ['retiredAt', { retiredAt: '2019-01-01T00:00:00.000Z' }],
      ['amount', { amount: '1' }],
      ['certifiedBy', { certifiedBy: 'the United Nations' }],
    ] as const) {
      const { record, ...rest } = JSON.parse(file) as { record: object };
      const { text } = await check(JSON.stringify({ ...rest, record: { ...record, ...change } }));
      expect(text).toContain(`it differs in ${name}`);
    }
    // After a restore of an older backup, the file may be right.
    const lost = JSON.parse(file) as { record: object };
    const { text: ofLost } = await check(
      JSON.stringify({
        ...lost,
        record: { ...lost.record, jurisdiction: 'ZA', serialRange: null, txHash: 'another' },
      }),
    );
    expect(ofLost).toContain('This certificate does not hold');
    expect(ofLost).toContain('The file was changed, or this registry has lost what it had: it differs in');
    expect(ofLost).toContain('jurisdiction, which the token’s record does not have');
    const elsewhere = await check(file.replace(/"networkId": ".*?"/, '"networkId": "another"'));
    expect(elsewhere.text).toContain('the file is about another network');
    expect((await check('{"format": 1}')).text).toContain('The file is not a certificate');
    expect((await check(`https://elsewhere.test${certificate()}.pdf`)).text).toContain(
      'This certificate holds',
    );
    expect((await check('Acme Shipping')).text).toContain('This certificate does not hold');
  });

  it('verify no file whose token or index is nested lists', async () => {
    const lists = '['.repeat(30_000) + ']'.repeat(30_000);
    for (const record of [`{"tokenAddress":${lists},"index":0}`, `{"tokenAddress":"","index":${lists}}`]) {
      const { status, text } = await get('/verify', {
        method: 'POST',
        // The body is not encoded: encoding would make it larger than a form may be.
        body: `certificate={"format":"carbon-retirement-certificate/1","record":${record}}`,
      });
      expect(status).toBe(200);
      expect(text).toContain('This certificate does not hold');
    }
  });

  it('prove by their file that a retirement is in the public log, to a program that asks no server', async () => {
    await market.app.dependencies.logs.catchUp();
    const { text: file } = await get(`${certificate()}.json`);
    const { inclusionProof } = JSON.parse(file) as { inclusionProof: { entry: string; treeSize: number } };
    expect(JSON.parse(inclusionProof.entry)).toMatchObject({
      tokenAddress,
      index: 0,
      beneficiary: 'Acme Shipping',
    });
    expect((await get(certificate())).text).toContain('In the public log');
    const key = (await get('/logs/retirements/key')).text;
    const folder = await mkdtemp(join(tmpdir(), 'certificate-'));
    const verify = async (text: string) => {
      const path = join(folder, 'certificate.json');
      await writeFile(path, text);
      return promisify(execFile)(process.execPath, [VERIFY_CERTIFICATE, path, key]);
    };
    const { stdout } = await verify(file);
    expect(JSON.parse(stdout)).toMatchObject({ size: inclusionProof.treeSize, retirement: { index: 0 } });
    const check = async (text: string) =>
      (await get('/verify', { method: 'POST', body: new URLSearchParams({ certificate: text }) })).text;
    expect(await check(file)).toMatch(/The proof leads from leaf \d+ to the root of \d+ leaves/);

    const forge = (change: (proof: Record<string, unknown>) => object) => {
      const parsed = JSON.parse(file) as { inclusionProof: Record<string, unknown> };
      return JSON.stringify({
        ...parsed,
        inclusionProof: { ...parsed.inclusionProof, ...change(parsed.inclusionProof) },
      });
    };
    expect(await check(forge(() => ({ entry: 'null' })))).toContain('it differs in all of it');
    const [otherLeaf, otherEntry, otherHead] = [
      forge(({ leafIndex }) => ({ leafIndex: Number(leafIndex) - 1 })),
      forge(({ entry }) => ({ entry: String(entry).replace('Acme Shipping', 'Evil Shipping') })),
      forge(({ checkpoint }) => ({ checkpoint: String(checkpoint).replace(/\n(\d+)\n/, '\n1$1\n') })),
    ];
    await expect(verify(otherLeaf)).rejects.toThrow(/^the proof /m);
    expect(await check(otherLeaf)).toContain('do not lead from this retirement to the signed root');
    await expect(verify(otherEntry)).rejects.toThrow('does not lead to the signed root');
    expect(await check(otherEntry)).toContain('The proof is of another entry: it differs in beneficiary');
    for (const unsigned of [{ treeSize: inclusionProof.treeSize + 1 }, { rootHash: '0'.repeat(64) }]) {
      const otherNumbers = await check(forge(() => unsigned));
      expect(otherNumbers).toContain('another number of leaves, or another root, than its signed head');
      expect(otherNumbers).not.toContain('The proof leads from leaf');
    }
    await expect(verify(file.replace('"tonnes": "120"', '"tonnes": "9120"'))).rejects.toThrow(
      'other tonnes than the log',
    );
    await expect(verify(otherHead)).rejects.toThrow('not signed with this key');
    expect(await check(otherHead)).toContain('is not signed with the key of this registry');
    await expect(
      verify(file.replace('"beneficiary": "Acme Shipping"', '"beneficiary": "Evil"')),
    ).rejects.toThrow('another beneficiary than the log');

    // A test chain and the main one may share the address and the key of the logs.
    const { network, logs } = market.app.dependencies;
    const ofOtherChain = file.replace(network.networkId, `${network.networkId}0`);
    await expect(verify(ofOtherChain)).rejects.toThrow('another network than the log');
    const elsewhere = forge(({ checkpoint }) => {
      const head = parseCheckpoint(String(checkpoint)) as SignedNote;
      return { checkpoint: logs.key.signCheckpoint({ ...head, networkId: 'eip155:1' }) };
    });
    await expect(verify(elsewhere)).rejects.toThrow('another network than the log');
    expect(await check(elsewhere)).toContain('is of the log of another network');
    await rm(folder, { recursive: true });
  });

  it('make a PDF/A-3b with the data attached, and a badge', async () => {
    const { response, text } = await get(`${certificate()}.pdf`);
    expect(response.headers.get('content-type')).toBe('application/pdf');
    expect(text.slice(0, 8)).toBe('%PDF-1.7');
    for (const part of [
      '<pdfaid:part>3</pdfaid:part>',
      '/AFRelationship /Data',
      '/OutputIntents',
      '/StructTreeRoot',
    ]) {
      expect(text).toContain(part);
    }
    // The file refers to none of the PDF readers' standard fonts.
    expect(text).not.toContain('/Helvetica');
    expect((await get(`/retirements/${foreignToken}-2.pdf`)).status).toBe(200);
    expect((await get(`${certificate()}/badge.svg`)).text).toMatch(/^<svg .*120 t CO₂e · 2024.*<\/svg>$/s);
  });

  it('write strangers’ texts into CSV so that no spreadsheet runs them', async () => {
    const { text } = await get(`/beneficiaries/${encodeURIComponent(HOSTILE.formula)}.csv`);
    expect(text).toContain(`"'=HYPERLINK(""http://evil.test"")"`);
  });

  it.each(['.', '..', 'Acme Shipping.csv'])('have a page and a file for beneficiary %j', async (name) => {
    const path = beneficiaryPath(name) ?? '';
    const page = await get(path);
    expect(page.status).toBe(200);
    expect(page.text).toContain(`<h1><bdi class="foreign">${name}</bdi></h1>`);
    expect(page.text).toContain(`href="${path}.csv"`);
    const file = await get(`${path}.csv`);
    expect(file.response.headers.get('content-type')).toMatch(/^text\/csv/);
    expect(file.text.split('\r\n')[1]).toContain(`,${name},`);
  });

  it('have a page and a file for a name as it was sent and as it is stored', async () => {
    await retire(1, ' Cafe\u0301 ');
    for (const name of ['Cafe\u0301', ' Cafe\u0301', 'Caf\u00e9']) {
      const path = `/beneficiaries/${encodeURIComponent(name)}`;
      expect((await get(path)).text, name).toContain(`href="/retirements/${tokenAddress}-1"`);
      expect((await get(`${path}.csv`)).text, name).toContain(',Caf\u00e9,1,');
      expect((await get(`/?q=${encodeURIComponent(name)}`)).text, name).toContain(`/${tokenAddress}-1"`);
    }
  });

  it('add up all retirements of a beneficiary, in however many vintages and on however many days', async () => {
    const { text } = await get('/beneficiaries/Many%20Parts');
    expect(text).toContain('<dt>Tonnes retired</dt><dd>210</dd>');
    expect(text).toContain('<dt>Retirements</dt><dd>105</dd>');
  });

  it('show nothing personal of a receipt', async () => {
    const deposit = {
      commodityType: 'Maize',
      quantityKg: 5000,
      gradeClassification: 'A',
      warehouseId: 'warehouse-1',
      valuationUSD: 1000,
      farmerAddress: market.network.custodyAddress,
      farmerId: 'farmer-mary',
    };
    const made = await mutate<string>(
      market,
      ['createDeposit', 'CreateDepositInput', 'tokenAddress'],
      deposit,
      { role: 'warehouse', subject: 'warehouse-1' },
    );
    const { tokenAddress: token } = payloadOf(made) as unknown as { tokenAddress: string };
    const { status, text } = await get(`/receipts/${token}`);
    expect([status, text.includes('Maize'), text.includes('not pledged')]).toEqual([200, true, true]);
    expect(text).toContain(`QR code of this receipt&#39;s address, ${origin}/receipts/${token}`);
    expect(text).not.toContain('farmer-mary');
    expect(text).not.toContain(market.network.custodyAddress);
  });
});

describe.skipIf(chromiumPath === undefined)('pages in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  }, SLOW_MS);
  afterAll(() => browser.close());

  async function withPage(
    options: Parameters<Browser['newContext']>[0],
    work: (page: Page, context: BrowserContext) => Promise<void>,
    allowed = /^$/,
  ): Promise<void> {
    const context = await browser.newContext({ baseURL: origin, ...options });
    const page = await context.newPage();
    const problems: string[] = [];
    page.on('pageerror', ({ message }) => problems.push(message));
    page.on('console', (message) => {
      if (message.type() === 'error' && !allowed.test(message.text())) problems.push(message.text());
    });
    await work(page, context);
    await context.close();
    expect(problems).toEqual([]);
  }

  it(
    'show a retirement while it is watched, whose certificate leads on and whose QR code leads back',
    async () => {
      await withPage({}, async (page) => {
        await page.goto('/');
        await page.getByText('Live', { exact: true }).waitFor();
        const before = await page.locator('#records > li').count();
        await retire(17, 'Watched & Sons');
        const link = page.getByRole('link', { name: 'Watched & Sons' });
        await link.waitFor();
        // Records of the first list are not shown again.
        expect(await page.locator('#records > li').count()).toBe(before + 1);
        await link.click();
        await page.getByText('The network confirms this record').waitFor();
        expect(await decodedQr(page)).toBe(page.url());
        const pdf = await page.request.get(
          (await page.getByText('PDF for the archive').getAttribute('href')) ?? '',
        );
        expect((await pdf.body()).subarray(0, 5).toString()).toBe('%PDF-');
        // The log is a second behind.
        await market.app.dependencies.logs.catchUp();
        await page.getByText('Check it step by step').click();
        await page.getByText('This certificate holds').waitFor();
      });
    },
    SLOW_MS,
  );

  it(
    'do nothing of what hostile names want',
    async () => {
      await withPage({ viewport: { width: 320, height: 640 } }, async (page) => {
        for (const path of ['/', ...[0, 1, 2].map((index) => `/retirements/${foreignToken}-${index}`)]) {
          await page.goto(path);
          expect(await page.title()).not.toBe('owned');
          expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
          expect(await page.content()).not.toContain('\u{202e}');
        }
      });
    },
    SLOW_MS,
  );

  it(
    'have no violation that axe finds, on a phone and a desktop, light and dark, and need no sideways scrolling',
    async () => {
      const paths = ['/', '/projects', '/projects/VCS-77-2024', certificate(), `/verify?q=${tokenAddress}-0`];
      for (const [width, scheme, other] of [
        [320, 'dark', 'light'],
        [1280, 'light', 'dark'],
      ] as const) {
        // axe belongs to the test; the page's policy would block it.
        const options = { viewport: { width, height: 800 }, colorScheme: scheme, bypassCSP: true };
        await withPage(options, async (page) => {
          for (const path of paths) {
            await page.goto(path);
            await addAxe(page);
            const found = await violations(page, '{}');
            // The other scheme differs only in colours.
            await page.emulateMedia({ colorScheme: other });
            found.push(...(await violations(page, "{ runOnly: ['color-contrast'] }")));
            await page.emulateMedia({ colorScheme: scheme });
            expect([path, width, found]).toEqual([path, width, []]);
            const contentWidth = await page.evaluate('document.documentElement.scrollWidth');
            expect([path, contentWidth]).toEqual([path, width]);
          }
        });
      }
    },
    SLOW_MS,
  );

  it(
    'serve readers without scripts, and skip to the content by the keyboard',
    async () => {
      await withPage({ javaScriptEnabled: false }, async (page) => {
        await page.goto('/');
        await page.keyboard.press('Tab');
        await page.keyboard.press('Enter');
        expect(new URL(page.url()).hash).toBe('#content');
        await page.getByRole('searchbox').fill('Acme Shipping');
        await page.getByRole('button', { name: 'Search' }).click();
        await page.getByRole('link', { name: 'Acme Shipping' }).click();
        await page.getByText('Certificate of retirement').waitFor();
      });
    },
    SLOW_MS,
  );

  describe('the console', () => {
    testConsole({ market: () => market, withPage, violations, addAxe, approvalPolicy, slowMs: SLOW_MS });
  });
});

const addAxe = (page: Page) => page.addScriptTag({ path: AXE });

async function violations(page: Page, options: string): Promise<string[]> {
  const found = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
    `axe.run(${options})`,
  );
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
}

/** The text that a QR reader decodes from the picture. */
async function decodedQr(page: Page): Promise<string | undefined> {
  const picture = page.locator('svg.qr');
  const size = Number((await picture.getAttribute('viewBox'))?.split(' ')[2]);
  const path = (await picture.locator('path').getAttribute('d')) ?? '';
  const side = size * 4;
  const pixels = new Uint8ClampedArray(side * side * 4).fill(255);
  for (const [, x = '', y = ''] of path.matchAll(/M(\d+) (\d+)h1v1h-1z/g)) {
    for (let dot = 0; dot < 16; dot += 1) {
      const at = (Number(y) * 4 + Math.floor(dot / 4)) * side + Number(x) * 4 + (dot % 4);
      pixels.fill(0, at * 4, at * 4 + 3);
    }
  }
  return jsQR.default(pixels, side, side)?.data;
}
