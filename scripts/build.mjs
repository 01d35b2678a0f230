/**
 * Builds build/main.js and build/reconcile.js, and a few files that they share: `npm start` and `npm run
 * reconcile` run them. Loading and compiling some two thousand modules one by one takes longer than
 * everything else in a start.
 *
 * Does nothing when no source file and no dependency has changed since the last build. Each file is replaced
 * atomically, and the name of each file except the two programs changes with its content. So a server that
 * starts or runs during a build finds files that belong together.
 *
 *   node scripts/build.mjs [folder]     "build" by default
 */
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { bundled } from './bundle.mjs';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const FOLDER = resolve(process.argv[2] ?? join(ROOT, 'build'));
const PROGRAMS = ['main.js', 'reconcile.js'].map((name) => join(FOLDER, name));
/** The inputs of the last build. */
const RECORD = join(FOLDER, 'main.inputs.json');
/** Inputs of every build; the first changes with the dependencies. */
const ALWAYS = ['package-lock.json', 'scripts/build.mjs', 'scripts/bundle.mjs'];

/** Files that were last written this long before the build that is replaced now are removed. */
const KEPT_MS = 7 * 24 * 3600 * 1000;

if (!(await isNewest())) await make();

async function isNewest() {
  try {
    await Promise.all(PROGRAMS.map((path) => stat(path)));
    const inputs = Object.entries(JSON.parse(await readFile(RECORD, 'utf8')));
    const states = await Promise.all(inputs.map(([name]) => stateOf(name)));
    return inputs.every(([, was], i) => was.mtimeMs === states[i].mtimeMs && was.size === states[i].size);
  } catch {
    return false;
  }
}

async function make() {
  const startedMs = Date.now();
  const options = bundled(FOLDER);
  const { metafile, outputFiles: files } = await build({
    ...options,
    absWorkingDir: ROOT,
    entryPoints: ['src/main.ts', 'src/cli/reconcile.ts'],
    write: false,
    metafile: true,
    legalComments: 'none',
    define: { ...options.define, 'process.env.BUILD_COMMIT': JSON.stringify(await commitOf()) },
  });
  const sources = Object.keys(metafile.inputs).filter((path) => !path.includes('node_modules'));
  // A folder changes when a file is added to it: no import names the files of the schema.
  const folders = new Set(sources.map(dirname));
  const names = [...ALWAYS, ...sources, ...folders];
  const states = await Promise.all(names.map(stateOf));
  await mkdir(FOLDER, { recursive: true });
  const replacedMs = await writtenMs(PROGRAMS[0]);
  // Without its record, the next run builds again. The record stays absent when a source has changed during
  // the build.
  await rm(RECORD, { force: true });
  const isProgram = ({ path }) => PROGRAMS.includes(path);
  for (const { path, contents } of files.filter((file) => !isProgram(file))) await exchange(path, contents);
  for (const { path, contents } of files.filter(isProgram)) await exchange(path, contents);
  await removeWrittenBefore(replacedMs - KEPT_MS);
  if (states.some(({ mtimeMs }) => mtimeMs >= startedMs)) return;
  await exchange(RECORD, JSON.stringify(Object.fromEntries(names.map((name, i) => [name, states[i]]))));
}

/** Returns the commit, with a mark for uncommitted changes. Empty when the sources have no history. */
async function commitOf() {
  try {
    const { stdout } = await promisify(execFile)(
      'git',
      ['describe', '--always', '--dirty', '--abbrev=12', '--exclude=*'],
      {
        cwd: ROOT,
      },
    );
    return stdout.trim();
  } catch {
    return '';
  }
}

/** Keeps all files of the build that is replaced, however old it is: a running server may still load some. */
async function removeWrittenBefore(timeMs) {
  for (const name of await readdir(FOLDER)) {
    const path = join(FOLDER, name);
    if ((await writtenMs(path)) < timeMs) await rm(path, { recursive: true, force: true });
  }
}

/** 0 when there is no such file; another build may be removing it. */
async function writtenMs(path) {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
}

async function stateOf(name) {
  const { mtimeMs, size } = await stat(join(ROOT, name));
  return { mtimeMs, size };
}

async function exchange(path, contents) {
  const fresh = `${path}.${process.pid}`;
  await writeFile(fresh, contents);
  await rename(fresh, path);
}
