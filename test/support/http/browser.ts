/**
 * The browser of devnet/, and a line that says so where there is none.
 */
import { chromiumPath } from '../../../devnet/browser.ts';

export { chromiumPath, openBrowser } from '../../../devnet/browser.ts';

if (chromiumPath === undefined) {
  process.stdout.write(
    'No Chromium here (CHROMIUM_PATH, or "apt-get install chromium"): the tests in a browser are skipped.\n',
  );
}
