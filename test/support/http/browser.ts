/**
 * Re-exports the browser of devnet/, and prints a notice when there is none.
 */
import { chromiumPath } from '../../../devnet/browser.ts';

export { chromiumPath, openBrowser } from '../../../devnet/browser.ts';

if (chromiumPath === undefined) {
  process.stdout.write(
    'No Chromium here (CHROMIUM_PATH, or "apt-get install chromium"): the tests in a browser are skipped.\n',
  );
}
