/**
 * `npm run ledger:check`: checks the configuration and the network, database and indexer that it names.
 * Prints one line per check, with the remedy for a failure.
 */
import { Command } from 'commander';
import pc from 'picocolors';
import { loadConfig } from '../config/config.ts';
import { fail, type Check } from '../ledger/network/check.ts';
import { checkLedger } from '../diagnostics/checkLedger.ts';
import { createLogger } from '../lib/logger.ts';
import { WrongSettings } from '../lib/startupErrors.ts';
import { runCommand } from './runCommand.ts';

const MARKS = { pass: pc.green('✓'), warn: pc.yellow('!'), fail: pc.red('✗') };
const NAME_WIDTH = 18;

const command = new Command('ledger:check')
  .description(
    'Looks at the configured ledger network and says what is right and what is not. Changes nothing there. Exits ' +
      'with 1 when something is wrong that the server needs.',
  )
  .action(async () => {
    const counts = { pass: 0, warn: 0, fail: 0 };
    for await (const check of checks()) {
      counts[check.result] += 1;
      print(check);
    }
    process.stdout.write(`${summaryOf(counts)}\n`);
    process.exitCode = counts.fail > 0 ? 1 : 0;
  });

await runCommand(command);

async function* checks(): AsyncGenerator<Check> {
  try {
    yield* checkLedger(await loadConfig(), createLogger({ level: 'fatal', pretty: true }));
  } catch (error) {
    if (!(error instanceof WrongSettings)) throw error;
    // An unknown network can't be checked.
    for (const problem of error.problems) yield fail('settings', problem);
  }
}

function print({ result, name, found, remedy }: Check): void {
  process.stdout.write(`${MARKS[result]} ${name.padEnd(NAME_WIDTH)} ${found}\n`);
  if (remedy !== undefined) process.stdout.write(`  ${' '.repeat(NAME_WIDTH)} → ${remedy}\n`);
}

function summaryOf({ warn: warnings, fail: failures }: Record<Check['result'], number>): string {
  if (failures > 0) return pc.red(`${failures} ${failures === 1 ? 'thing is' : 'things are'} wrong.`);
  if (warnings > 0) return pc.green(`All that the server needs is right; ${warnings} could be better.`);
  return pc.green('Everything is right.');
}
