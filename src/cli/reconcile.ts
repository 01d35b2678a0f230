/**
 * `npm run reconcile`: proves the invariants on the configured database and network, or names the broken ones
 * and the items that could not be compared.
 */
import { readFile } from 'node:fs/promises';
import { SingleBar } from 'cli-progress';
import { Command } from 'commander';
import pc from 'picocolors';
import { reconcileWithoutNetwork } from '../reconciliation/reconcileAll.ts';
import { reconcileAndKeep, type KeptReconciliation } from '../reconciliation/lastReconciliation.ts';
import type { Verdict } from '../reconciliation/verdicts.ts';
import { logOf } from '../reconciliation/reconcileLogs.ts';
import { parseCheckpoint, type SignedNote } from '../transparency/checkpoint.ts';
import { codeOf } from '../lib/errors.ts';
import { StartupError } from '../lib/startupErrors.ts';
import { NetworkUnavailable } from '../ledger/network/port.ts';
import { awaitReorgConfirmation } from '../ledger/network/continuity.ts';
import { runCommand } from './runCommand.ts';
import { withPlatform } from './withPlatform.ts';

const EXIT_CODES = { HOLDS: 0, BROKEN: 1, NOT_PROVED: 2 } as const satisfies Record<
  Verdict['verdict'],
  number
>;

const WORDS = {
  HOLDS: pc.green('holds     '),
  BROKEN: pc.red('broken    '),
  NOT_PROVED: pc.yellow('not proved'),
} as const satisfies Record<Verdict['verdict'], string>;

const command = new Command('reconcile')
  .description(
    'Compares books, network, feed and ramp provider, and proves the invariants. Exits with 0 when all hold, with 1 ' +
      'when one is broken, with 2 when none is broken, but something could not be compared, and with 3 when it did not run.',
  )
  .option('--incremental', 'compare only what has changed since everything agreed last')
  .option(
    '--from-checkpoint <file...>',
    'also compare the transparency logs with these checkpoints, which were kept where no administrator of the database writes',
  )
  .action(async ({ incremental = false, fromCheckpoint = [] }: Options) => {
    const keptCheckpoints = await Promise.all(fromCheckpoint.map(readCheckpoint));
    await withPlatform(async ({ dependencies }) => {
      const deps = { ...dependencies, keptCheckpoints };
      try {
        await awaitReorgConfirmation(deps.network);
        const bar = new SingleBar({ format: 'reconcile {bar} {value} tokens', clearOnComplete: true });
        if (process.stdout.isTTY) bar.start(0, 0);
        const onProgress = (done: number) => {
          bar.setTotal(done);
          bar.update(done);
        };
        const report = await reconcileAndKeep(deps, { isFull: !incremental, onProgress }).finally(() =>
          bar.stop(),
        );
        print(report);
      } catch (error) {
        if (!(error instanceof NetworkUnavailable)) throw error;
        printWithoutNetwork(await reconcileWithoutNetwork(deps, error.message));
      }
    });
  });

await runCommand(command);

interface Options {
  incremental?: boolean;
  fromCheckpoint?: string[];
}

async function readCheckpoint(path: string): Promise<SignedNote> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new StartupError(
      `${path} can't be read (${codeOf(cause)}). Name a file with a checkpoint that you kept.`,
      { cause },
    );
  });
  const note = parseCheckpoint(text);
  if (note !== null && logOf(note.origin) !== null) return note;
  throw new StartupError(`${path} is not a checkpoint of a transparency log of this product.`);
}

function linesOf(verdicts: readonly Verdict[]): string[] {
  return verdicts.flatMap(({ invariant, promise, verdict, findings, notProved }) => [
    `${WORDS[verdict]} ${invariant.padEnd(3)}  ${promise}`,
    ...findings.map(({ message }) => `${' '.repeat(16)}${pc.red(message)}`),
    ...notProved.map(({ obstacle, message }) => `${' '.repeat(16)}${pc.yellow(`${obstacle}: ${message}`)}`),
  ]);
}

function printWithoutNetwork({ verdicts }: Pick<KeptReconciliation, 'verdicts'>): void {
  const verdict = overall(verdicts);
  const summary =
    verdict === 'BROKEN'
      ? pc.red('an invariant is broken')
      : pc.yellow('nothing is broken in the database; the network did not answer');
  process.stdout.write(`${[...linesOf(verdicts), summary].join('\n')}\n`);
  process.exitCode = EXIT_CODES[verdict];
}

function print({ projects, receipts, verdicts, since }: KeptReconciliation): void {
  const out = linesOf(verdicts);
  const verdict = overall(verdicts);
  const summary = {
    HOLDS: pc.green('every invariant holds'),
    BROKEN: pc.red('an invariant is broken'),
    NOT_PROVED: pc.yellow('nothing is broken, and not everything could be compared'),
  }[verdict];
  out.push(`${count(projects, 'project')} and ${count(receipts, 'receipt')} reconciled: ${summary}`);
  if (since !== null) {
    const what = 'what has not changed, and rows that were deleted, were not looked at again';
    out.push(`compared was what has changed since ${since.toISOString()}: ${what}`);
  }
  process.stdout.write(`${out.join('\n')}\n`);
  process.exitCode = EXIT_CODES[verdict];
}

function overall(verdicts: readonly Verdict[]): Verdict['verdict'] {
  const has = (wanted: Verdict['verdict']) => verdicts.some(({ verdict }) => verdict === wanted);
  return has('BROKEN') ? 'BROKEN' : has('NOT_PROVED') ? 'NOT_PROVED' : 'HOLDS';
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
