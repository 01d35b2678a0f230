/**
 * `npm run docs:pictures`: takes the pictures of README.md from a running server on which the demo has run.
 */
import { mkdir, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { Command } from 'commander';
import { runCommand } from '../src/cli/runCommand.ts';
import { StartupError } from '../src/lib/startupErrors.ts';
import { chromiumPath, openBrowser } from '../devnet/browser.ts';

interface Picture {
  name: string;
  screen: BrowserContextOptions;
  open(page: Page, url: string): Promise<unknown>;
}

const FOLDER = fileURLToPath(new URL('../docs/images/', import.meta.url));
/** People also load README.md over slow mobile connections. */
const MAX_BYTES = 150_000;
const DESKTOP = { viewport: { width: 1200, height: 780 } };
const PHONE = { viewport: { width: 390, height: 780 }, isMobile: true };

const PICTURES: readonly Picture[] = [
  { name: 'registry', screen: DESKTOP, open: (page, url) => page.goto(url) },
  { name: 'project', screen: DESKTOP, open: (page, url) => openFirst(page, `${url}projects`, '/projects/') },
  { name: 'certificate', screen: PHONE, open: (page, url) => openFirst(page, url, '/retirements/') },
];

/** Opens the page behind the first link of a list. */
async function openFirst(page: Page, list: string, path: string): Promise<void> {
  await page.goto(list);
  const first = await page.locator(`main a[href^="${path}"]`).first().getAttribute('href');
  await page.goto(new URL(first ?? '', list).href);
}

const command = new Command('docs:pictures')
  .description('Takes the pictures of README.md from a running server on which the demo has run.')
  .option('--url <url>', 'of the server', 'http://localhost:4000/')
  .action(async ({ url }: { url: string }) => {
    if (chromiumPath === undefined) throw new StartupError('There is no Chromium here: set CHROMIUM_PATH.');
    await mkdir(FOLDER, { recursive: true });
    const browser = await openBrowser();
    try {
      for (const { name, screen, open } of PICTURES) {
        const page = await browser.newPage({ ...screen, colorScheme: 'light', locale: 'en-GB' });
        await open(page, url);
        await page.waitForLoadState('networkidle');
        const path = `${FOLDER}${name}.png`;
        await page.screenshot({ path });
        const { size } = await stat(path);
        if (size > MAX_BYTES) throw new StartupError(`${path} has ${size} bytes, more than ${MAX_BYTES}.`);
        process.stdout.write(`${path} ${size}\n`);
      }
    } finally {
      await browser.close();
    }
  });

await runCommand(command);
