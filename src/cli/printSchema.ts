/**
 * `npm run schema:print` writes the GraphQL contract to schema.graphql; `npm run schema:check` fails when the
 * committed file differs from the code.
 */
import { Command } from 'commander';
import { lexicographicSortSchema, printSchema } from 'graphql';
import { schema } from '../schema/index.ts';
import { checkPrintedFile, writePrintedFile } from './printedFile.ts';
import { runCommand } from './runCommand.ts';

const command = new Command('printSchema')
  .description('Prints the GraphQL contract, sorted, to schema.graphql.')
  .option('--check', 'write nothing; fail when schema.graphql differs from the code')
  .action(async (options: { check?: boolean }) => {
    const file = {
      path: 'schema.graphql',
      contents: `${printSchema(lexicographicSortSchema(schema))}\n`,
      script: 'schema:print',
    };
    await (options.check === true ? checkPrintedFile(file) : writePrintedFile(file));
  });

await runCommand(command);
