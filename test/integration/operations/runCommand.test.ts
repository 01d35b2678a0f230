/**
 * A command line program that fails outside of its action.
 */
import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { pathOf } from '../../support/run/programs.ts';

it('says in one sentence why it ends, and that it did not run', () => {
  const { status, stderr } = spawnSync(process.execPath, [pathOf('test/support/run/failingCommand.ts')], {
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({ status: 3, stderr: 'The database has ended.\n' });
});

it('says which checkpoint it can not read, and what to name', () => {
  const { status, stderr } = spawnSync(
    process.execPath,
    [pathOf('src/cli/reconcile.ts'), '--from-checkpoint', '/nowhere'],
    { encoding: 'utf8' },
  );
  const said = "/nowhere can't be read (ENOENT). Name a file with a checkpoint that you kept.\n";
  expect({ status, stderr }).toEqual({ status: 3, stderr: said });
});
