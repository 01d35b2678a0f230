/**
 * `npm run bench`: the product against baselines, row by row, on this machine.
 *
 *   npm run bench                      every row, and docs/performance.md
 *   npm run bench -- purchase --json   one row, as one line of JSON
 *   npm run bench -- abuse             attacks, and their effect on an innocent client
 */
import { writeFile } from 'node:fs/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import pc from 'picocolors';
import { runCommand } from '../src/cli/runCommand.ts';
import { messageOf } from '../src/lib/errors.ts';
import { StartupError } from '../src/lib/startupErrors.ts';
import { runAbuse } from './abuse/run.ts';
import { openBench, SIZES, type Reconciled, type Size } from './bench.ts';
import { writeReport } from './report/report.ts';
import { describeTarget, isReached, showNumber, type Row, type RowResult } from './row.ts';
import { ROWS } from './rows/index.ts';

/** The abuse run has no baseline, so it is not a row. */
const ABUSE = 'abuse';

interface Options {
  json?: true;
  rounds: number;
  seconds: number;
  size: Size;
}

const positive = (text: string): number => {
  const number = Number(text);
  if (!(number > 0)) throw new InvalidArgumentError('must be a number above 0');
  return number;
};

const command = new Command('bench')
  .description(
    `Measures the product against baselines. Rows: ${ROWS.map(({ name }) => name).join(', ')}; and ${ABUSE}.`,
  )
  .argument('[rows...]', 'rows, or groups of rows; all of them, and docs/performance.md, when none is named')
  .option('--json', 'one line of JSON for each row, and nothing else, on the standard output')
  .addOption(
    new Option('--rounds <n>', 'turns of product and baseline; the median counts')
      .argParser(positive)
      .default(3),
  )
  .addOption(new Option('--seconds <s>', 'of one turn').argParser(positive).default(3))
  .addOption(
    new Option('--size <size>', 'how much data the rows about growth work on')
      .choices(Object.keys(SIZES))
      .default('short'),
  )
  .action(run);

await runCommand(command);

async function run(names: string[], options: Options): Promise<void> {
  const say = (text: string) => process.stderr.write(`${pc.dim(text)}\n`);
  if (names.length === 1 && names[0] === ABUSE) {
    await runAbuse({ seconds: options.seconds, say });
    return;
  }
  const rows = (names.length === 0 ? ROWS : names.flatMap(rowsNamed)).filter(isMeasurable);
  const bench = await openBench({ ...options, say });
  // Closing ends the work under way and removes everything.
  process.once('SIGINT', () => void bench.close({ reconcile: false }).finally(() => process.exit(1)));
  process.once('SIGTERM', () => void bench.close({ reconcile: false }).finally(() => process.exit(1)));
  const results: RowResult[] = [];
  let reconciled: Reconciled[] = [];
  try {
    for (const [at, row] of rows.entries()) {
      process.stderr.write(`${pc.bold(`[${at + 1}/${rows.length}] ${row.name}`)}  ${row.title}\n`);
      const result = await measure(row, () => row.run(bench));
      if (result === null) continue;
      results.push(result);
      if (options.json) printJson(result);
      else printRow(result);
    }
  } finally {
    reconciled = await bench.close();
  }
  for (const { database, holds, output } of reconciled) {
    process.stderr.write(
      `${holds ? pc.green('reconciled') : pc.red('NOT RECONCILED')} ${database}\n${holds ? '' : output}`,
    );
  }
  if (reconciled.some(({ holds }) => !holds) || results.length < rows.length) process.exitCode = 1;
  if (names.length > 0) return;
  await writeReport({ results, reconciled, ...options }, (path, text) => writeFile(path, text));
}

/** Prints why a row is left out. */
function isMeasurable({ name, skip }: Row): boolean {
  const why = skip?.() ?? null;
  if (why !== null) process.stderr.write(`${pc.yellow(`${name} is left out:`)} ${why}\n`);
  return why === null;
}

/** Prints the error of a failed row and returns null, so that the other rows still run. */
async function measure(row: Row, work: () => ReturnType<Row['run']>): Promise<RowResult | null> {
  const startedMs = performance.now();
  try {
    const outcome = await work();
    const { name, group, title, unit, target } = row;
    return {
      name,
      group,
      title,
      unit,
      target,
      comparedWith: row.baseline,
      ...outcome,
      isReached: isReached(outcome.ratio, target),
      seconds: (performance.now() - startedMs) / 1000,
    };
  } catch (error) {
    process.stderr.write(pc.red(`${row.name} failed: ${messageOf(error)}\n`));
    return null;
  }
}

function rowsNamed(name: string): Row[] {
  const exact = ROWS.filter((row) => row.name === name);
  const found =
    exact.length > 0 ? exact : ROWS.filter((row) => row.group.toLowerCase() === name.toLowerCase());
  if (found.length > 0) return found;
  throw new StartupError(`There is no row "${name}"; there are ${ROWS.map((row) => row.name).join(', ')}`);
}

function printJson({ name, ratio, product, baseline, target }: RowResult): void {
  process.stdout.write(`${JSON.stringify({ name, ratio, product, baseline, target })}\n`);
}

function printRow(result: RowResult): void {
  const { ratio, product, baseline, unit, target, isReached, details = {}, seconds } = result;
  const colour = isReached ? pc.green : pc.red;
  const more = Object.entries({ ...details, 'the row took s': seconds });
  process.stdout.write(
    `  ${colour(`ratio ${showNumber(ratio)}`)} (target ${describeTarget(target)}): product ${showNumber(product)} ${unit}, ` +
      `baseline ${showNumber(baseline)} ${unit}\n  ${pc.dim(more.map(([name, value]) => `${name} ${showNumber(value)}`).join(', '))}\n`,
  );
}
