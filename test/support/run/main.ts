/**
 * `npm test`: runs the tests, and then repeats the files in which a test failed, alone. A busy machine must
 * not discard a day's work. Tests that pass only when repeated are listed at the end, as defects of the test
 * or of the product.
 *
 * A whole file is repeated, because its tests share state: a single repeated test would meet the state that
 * the tests before it left.
 */
import { relative } from 'node:path';
import { parseCLI, startVitest, type Vitest } from 'vitest/node';
import { WHOLE_RUN } from './wholeRun.ts';

/** More failed files mean a broken tree, not a lost race. */
const MAX_REPEATED_FILES = 5;

const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)]);

if (options.project === undefined) process.env[WHOLE_RUN] = '1';
const first = await startVitest('test', filter, options);
const failed = first.state.getFailedFilepaths();
const isRace = failed.length > 0 && failed.length <= MAX_REPEATED_FILES;
if (isRace && first.state.getUnhandledErrors().length === 0) {
  process.stdout.write(
    `\nOnce more, by themselves: ${failed.map((path) => relative('', path)).join(', ')}\n`,
  );
  process.exitCode = 0;
  await startVitest('test', failed, options);
  if (process.exitCode === 0)
    process.stdout.write(`Passed only when repeated:\n  ${failures(first).join('\n  ')}\n`);
}
// Resources that a failed test has left open would keep the process alive.
process.exit();

function failures({ state }: Vitest): string[] {
  return state.getTestModules().flatMap((module) => {
    const tests = [...module.children.allTests('failed')].map(
      ({ fullName }) => `${module.relativeModuleId} > ${fullName}`,
    );
    return tests.length > 0 || module.state() !== 'failed' ? tests : [module.relativeModuleId];
  });
}
