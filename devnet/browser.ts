/**
 * A browser of this machine, for tests and measurements of the pages, and for pictures of them: Debian's Chromium, or the one
 * that CHROMIUM_PATH names. Nothing is downloaded: where there is none, they are left out.
 */
import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

const CANDIDATES = [process.env['CHROMIUM_PATH'], '/usr/bin/chromium', '/usr/bin/chromium-browser'];

export const chromiumPath = CANDIDATES.find((path) => path !== undefined && path !== '' && existsSync(path));

export function openBrowser(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error('There is no Chromium on this machine.');
  // Containers rarely let it make a sandbox; it opens the pages of the test's own server alone.
  return chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}
