/**
 * The node runs as devnet/soroban/README.md shows, without the rest of this repository.
 */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
/** Folders that users of the module do not need. */
const RUST = ['node', 'contracts'].map((name) => join(ROOT, 'devnet/soroban', name));

it('is a module of its own, whose example runs', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'soroban-alone-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await cp(join(ROOT, 'devnet/soroban'), folder, {
    recursive: true,
    filter: (source) => !RUST.includes(source),
  });
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  const page = await readFile(join(folder, 'README.md'), 'utf8');
  const [, example = ''] = /^```ts\n([^]*?)^```$/m.exec(page) ?? [];
  const before =
    "import { Keypair } from '@stellar/stellar-sdk';\nconst address = Keypair.random().publicKey();\n";
  await writeFile(join(folder, 'program.ts'), `${before}${example}console.log('stopped');\n`);
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', 'program.ts'], {
    cwd: folder,
  });
  expect(stdout.trim()).toBe('stopped');
}, 60_000);
