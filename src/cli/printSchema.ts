/**
 * `npm run schema:print` writes the contract to schema.graphql; `npm run schema:check` fails when the
 * committed file differs from the code.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import { lexicographicSortSchema, printSchema } from 'graphql';
import { schema } from '../schema/index.ts';
import { StartupError } from '../startupErrors.ts';
import { runCommand } from './runCommand.ts';

const SCHEMA_FILE = new URL('../../schema.graphql', import.meta.url);

const command = new Command('printSchema')
  .description('Prints the GraphQL contract, sorted, to schema.graphql.')
  .option('--check', 'write nothing; fail when schema.graphql differs from the code')
  .action(async (options: { check?: boolean }) => {
    const printed = `${printSchema(lexicographicSortSchema(schema))}\n`;
    if (options.check !== true) {
      await writeFile(SCHEMA_FILE, printed);
      return;
    }
    const committed = await readFile(SCHEMA_FILE, 'utf8').catch(() => '');
    if (committed !== printed) {
      throw new StartupError(
        `schema.graphql differs from the code, first in line ${firstDifference(committed, printed)}. ` +
          'Run "npm run schema:print", look at the difference, and commit it.',
      );
    }
  });

await runCommand(command);

function firstDifference(a: string, b: string): number {
  const [linesA, linesB] = [a.split('\n'), b.split('\n')];
  return linesB.findIndex((line, i) => line !== linesA[i]) + 1 || linesB.length + 1;
}
