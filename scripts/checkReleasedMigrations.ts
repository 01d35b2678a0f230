/**
 * `npm run db:check` compares the migrations with the released ones, which installations have applied and
 * never apply again. `npm run db:release` marks the present ones as released, with each release.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { Command } from 'commander';
import * as z from 'zod';
import { readIfThere } from '../src/lib/readIfThere.ts';
import { StartupError } from '../src/lib/startupErrors.ts';
import { MIGRATION_SETS } from '../src/db/migrate.ts';
import { findRefusedMigrations, type Migration } from './migrationChanges.ts';
import { runCommand } from '../src/cli/runCommand.ts';

const FOLDER = new URL('../drizzle/', import.meta.url);
const RELEASED = new URL('../migrations.released.json', import.meta.url);

const Journal = z.object({ entries: z.array(z.object({ tag: z.string(), when: z.number() })) });
const Released = z.array(z.object({ file: z.string(), when: z.number(), sha256: z.string() }));

const read = (path: string) => readFile(new URL(path, FOLDER), 'utf8');

const command = new Command('checkReleasedMigrations')
  .description('Compares the migrations with the released ones, migrations.released.json.')
  .option('--release', 'make the present migrations the released ones, if no released one differs')
  .action(async (options: { release?: boolean }) => {
    const current = (await Promise.all(MIGRATION_SETS.map(readMigrations))).flat();
    const released = Released.parse(JSON.parse((await readIfThere(RELEASED)) ?? '[]'));
    const refused = findRefusedMigrations(released, current);
    if (refused.length > 0) throw new StartupError(refused.join('\n'));
    if (options.release === true) {
      await writeFile(RELEASED, `${JSON.stringify(current, null, 2)}\n`);
    }
  });

async function readMigrations(set: string): Promise<Migration[]> {
  const { entries } = Journal.parse(JSON.parse(await read(`${set}/meta/_journal.json`)));
  return Promise.all(
    entries.map(async ({ tag, when }) => {
      const file = `${set}/${tag}.sql`;
      return {
        file,
        when,
        sha256: createHash('sha256')
          .update(await read(file))
          .digest('hex'),
      };
    }),
  );
}

await runCommand(command);
