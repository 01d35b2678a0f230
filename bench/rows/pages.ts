/**
 * The public pages for a visitor with a slow phone: their size, their number of requests, and the time until
 * their content is visible.
 */
import type { Browser, CDPSession } from 'playwright-core';
import { chromiumPath, openBrowser } from '../../devnet/browser.ts';
import type { Bench } from '../bench.ts';
import type { Product } from '../product.ts';
import { sendRequests } from '../load/client.ts';
import { limitRow, median, type Row } from '../row.ts';
import { endow, openProject, retiring, type OpenProject } from './market.ts';

const DATABASE = 'pages';
const RETIREMENTS = 50;
const SECONDS = 10;
const DRAIN_SECONDS = 60;
/** Slowdown of the processor to a mid-range phone, as Lighthouse sets it. */
const SLOWER_PROCESSOR = 4;
/** Slow 4G, as Lighthouse defines it. */
const NETWORK = {
  offline: false,
  latency: 150,
  downloadThroughput: (1.6 * 1024 * 1024) / 8,
  uploadThroughput: (0.75 * 1024 * 1024) / 8,
};
const PAGE_LIMIT_KB = 100;
/** The document, a style sheet, a script, an icon, and a picture. */
const REQUESTS_LIMIT = 5;
/** Lighthouse's limit for a good largest contentful paint. */
const CONTENT_LIMIT_MS = 2_500;

/** The measures of one visit with an empty cache. */
interface Visit {
  kB: number;
  requests: number;
  contentMs: number;
}

const PAGES = ['home', 'project', 'certificate'] as const;

function pageRow(
  name: string,
  [title, unit, limit]: [title: string, unit: string, limit: number],
  of: (visit: Visit) => number,
): Row {
  return limitRow({
    name: `pages-${name}`,
    group: 'Pages',
    title,
    unit,
    limit,
    skip: () => (chromiumPath === undefined ? 'there is no Chromium here (CHROMIUM_PATH)' : null),
    async measure(bench) {
      const visits = await visitAll(bench);
      const measured = PAGES.map((page) => [page, median(visits[page].map(of))] as const);
      return {
        value: Math.max(...measured.map(([, value]) => value)),
        details: Object.fromEntries(measured),
      };
    },
  });
}

export const pageRows: readonly Row[] = [
  pageRow('bytes', ['the heaviest page, as sent', 'kB', PAGE_LIMIT_KB], ({ kB }) => kB),
  pageRow(
    'requests',
    ['the most requests of a page', 'requests', REQUESTS_LIMIT],
    ({ requests }) => requests,
  ),
  pageRow(
    'content',
    ['the slowest page on a slow phone, until its content is there', 'ms', CONTENT_LIMIT_MS],
    ({ contentMs }) => contentMs,
  ),
];

type Visits = Record<(typeof PAGES)[number], Visit[]>;

let visited: Promise<Visits> | undefined;

/** Visits once for all rows, because each visit has all measures. */
function visitAll(bench: Bench): Promise<Visits> {
  visited ??= visitPages(bench);
  return visited;
}

async function visitPages(bench: Bench): Promise<Visits> {
  const product = await bench.product(DATABASE);
  const { tokenAddress } = await makeRetirements(bench, product);
  const { project } = await product.ask<{ project: { assetId: string } }>(
    'query ($token: Address!) { project(tokenAddress: $token) { assetId } }',
    { token: tokenAddress },
  );
  const paths = {
    home: '/',
    project: `/projects/${project.assetId}`,
    certificate: `/retirements/${tokenAddress}-0`,
  };
  const visits: Visits = { home: [], project: [], certificate: [] };
  const browser = await openBrowser();
  try {
    // The server's code is compiled in the first round.
    for (let round = 0; round <= bench.rounds; round++) {
      for (const page of PAGES) {
        bench.say(`round ${round} of ${bench.rounds}: ${paths[page]}`);
        const visit = await visitOnce(browser, `${product.process.url}${paths[page]}`);
        if (round > 0) visits[page].push(visit);
      }
    }
  } finally {
    await browser.close();
  }
  return visits;
}

async function makeRetirements(bench: Bench, product: Product): Promise<OpenProject> {
  const project = await openProject(product);
  await endow(product, project, RETIREMENTS);
  bench.say(`making ${RETIREMENTS} retirements`);
  await sendRequests(bench, {
    ...(await retiring(product, project)),
    connections: RETIREMENTS,
    seconds: SECONDS,
    drainSeconds: DRAIN_SECONDS,
    maxRequests: RETIREMENTS,
  });
  return project;
}

/** Visits a page in a new browser context, so with an empty cache. */
async function visitOnce(browser: Browser, url: string): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
  try {
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send('Network.enable');
    await session.send('Network.emulateNetworkConditions', NETWORK);
    await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWER_PROCESSOR });
    const sent = countSent(session);
    await page.goto(url, { waitUntil: 'load' });
    const contentMs = await page.evaluate(
      () =>
        new Promise<number>((resolve) => {
          new PerformanceObserver((list) =>
            resolve(list.getEntries().at(-1)?.startTime ?? Number.NaN),
          ).observe({
            type: 'largest-contentful-paint',
            buffered: true,
          });
        }),
    );
    return { ...sent(), contentMs };
  } finally {
    await context.close();
  }
}

/** Counts the compressed bytes with headers. The websocket of the live list does not count. */
function countSent(session: CDPSession): () => Pick<Visit, 'kB' | 'requests'> {
  let [bytes, requests] = [0, 0];
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
    requests += 1;
  });
  return () => ({ kB: bytes / 1024, requests });
}
