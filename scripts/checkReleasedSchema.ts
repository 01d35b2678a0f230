/**
 * `npm run schema:compare` compares the contract with the last released one, and fails on changes that break
 * clients without a deprecation. `npm run schema:release` marks the present contract as released, with each
 * release.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import { buildSchema } from 'graphql';
import { readIfThere } from '../src/lib/readIfThere.ts';
import { StartupError } from '../src/lib/startupErrors.ts';
import { runCommand } from '../src/cli/runCommand.ts';
import { findRefusedChanges } from './schemaChanges.ts';

const ROOT = new URL('../', import.meta.url);
const CURRENT = 'schema.graphql';
const RELEASED = 'schema.released.graphql';

const read = (path: string) => readFile(new URL(path, ROOT), 'utf8');

const command = new Command('checkReleasedSchema')
  .description(`Compares ${CURRENT} with the last released contract, ${RELEASED}.`)
  .option('--release', `make ${CURRENT} the released contract, if it breaks nothing`)
  .action(async (options: { release?: boolean }) => {
    const current = await read(CURRENT);
    const released = await readIfThere(new URL(RELEASED, ROOT));
    if (released === null) {
      process.stdout.write(
        `Nothing is released yet: there is no ${RELEASED}, and the contract may change freely.\n`,
      );
    } else {
      const refused = findRefusedChanges(buildSchema(released), buildSchema(current), new Date());
      if (refused.length > 0) throw new StartupError(explain(refused));
    }
    if (options.release === true) await writeFile(new URL(RELEASED, ROOT), current);
  });

function explain(refused: readonly string[]): string {
  return (
    `${CURRENT} breaks clients of the released contract:\n${refused.map((line) => `  ${line}\n`).join('')}` +
    'Keep what was there and mark it @deprecated with a reason that names a day (YYYY-MM-DD), three months or more after that ' +
    'release; from that day on it may be removed.'
  );
}

await runCommand(command);
