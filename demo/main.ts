/**
 * `npm run demo`: runs the product's use cases through the public API of a running server.
 */
import { Command } from 'commander';
import pc from 'picocolors';
import { runCommand } from '../src/cli/runCommand.ts';
import { StartupError } from '../src/lib/startupErrors.ts';
import { runCarbonDemo } from './carbon.ts';
import { createApiClient } from './client.ts';
import { createNarrator } from './narrator.ts';
import { createTokenSource } from './tokens.ts';
import { runWarehouseDemo } from './warehouse.ts';

const command = new Command('demo')
  .description(
    'Runs the use cases of the product on a running server, through its public API alone. Its payouts are those of the manual ' +
      'ramp provider, the default.',
  )
  .option('--url <url>', 'the GraphQL address of the server (default: the configured one)')
  .option(
    '--expiry',
    "ends with the expiry of a receipt: moves the network's clock half a year ahead, for good (networks of this machine only)",
  )
  .action(async (options: { url?: string; expiry?: boolean }) => {
    const { tokenFor, serverUrl } = await createTokenSource();
    const url = options.url ?? serverUrl;
    await requireServer(url);
    const api = createApiClient(url);
    const tell = createNarrator(process.stdout);
    try {
      await runCarbonDemo(api, tell, tokenFor);
      await runWarehouseDemo({ api, tell, tokenFor, withExpiry: options.expiry === true });
      process.stdout.write(`\n${pc.green('Done.')} Look around at ${pc.cyan(url)}\n`);
    } catch (error) {
      throw (await isAnswering(url)) ? error : serverEnded(url, error);
    } finally {
      await api.close();
    }
  });

await runCommand(command);

async function requireServer(url: string): Promise<void> {
  if (await isAnswering(url)) return;
  throw new StartupError(`No server answers at ${url}. Start one with "npm start" in another terminal.`);
}

function isAnswering(url: string): Promise<boolean> {
  return fetch(new URL('/healthz', url), { signal: AbortSignal.timeout(5000) }).then(
    () => true,
    () => false,
  );
}

function serverEnded(url: string, cause: unknown): StartupError {
  return new StartupError(
    `The server at ${url} ended, or does not answer any more. Start it again, and then the demo: nothing was lost, as ` +
      '"npm run reconcile" shows.',
    { cause },
  );
}
