/**
 * A browser on this machine, for tests, measurements and pictures of the pages: Debian's Chromium, or the one
 * that CHROMIUM_PATH names. Nothing is downloaded; without a browser, the tests that need it are left out.
 */
import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

const CANDIDATES = [process.env['CHROMIUM_PATH'], '/usr/bin/chromium', '/usr/bin/chromium-browser'];

export const chromiumPath = CANDIDATES.find((path) => path !== undefined && path !== '' && existsSync(path));

export function openBrowser(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error('There is no Chromium on this machine.');
  // Containers rarely allow a sandbox. The browser opens only pages of the test's own server.
  return chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}
