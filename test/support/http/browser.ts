/**
 * A browser of this machine, for the tests of the pages: Debian's Chromium, or the one that CHROMIUM_PATH names. Nothing is
 * downloaded: where there is none, those tests are skipped.
 */
import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

const CANDIDATES = [process.env['CHROMIUM_PATH'], '/usr/bin/chromium', '/usr/bin/chromium-browser'];

export const chromiumPath = CANDIDATES.find((path) => path !== undefined && path !== '' && existsSync(path));

if (chromiumPath === undefined) {
  process.stdout.write(
    'No Chromium here (CHROMIUM_PATH, or "apt-get install chromium"): the tests in a browser are skipped.\n',
  );
}

export function openBrowser(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error('There is no Chromium on this machine.');
  // Containers rarely let it make a sandbox; it opens the pages of the test's own server alone.
  return chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}
