/**
 * Lets test files import compiled sources instead of Vite's output. Vite transforms each module in the one
 * process that all workers wait for, and every worker evaluates the text again. With compiled sources, a run
 * of one file starts in less than half of the time.
 *
 *   the test file ─by Vite─▶ src, demo, devnet, and shared test code ─by Node─▶ packages
 *
 * Not used by runs that watch, which must see changes, nor with coverage, which measures the sources.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, version, type Plugin as BuildPlugin } from 'esbuild';
import type { Plugin } from 'vitest/config';
import { inItsPlace } from '../../../scripts/bundle.mjs';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const FOLDERS = ['src', 'demo', 'devnet', 'test'].map((name) => join(ROOT, name));
/** Below the project, so that packages are found from there. */
const CACHE = join(ROOT, 'node_modules/.cache');
const TYPESCRIPT = /\.tsx?$/;
const PREFIX = 'sources-';
/** Counts from a run's start: a run that takes longer would lose its folder. */
const KEPT_MS = 24 * 3600 * 1000;

/** Imports of files whose names are computed at run time; esbuild would bundle every file that may match. */
const COMPUTED_IMPORT = /import\(\/\* @vite-ignore \*\/ (`[^`]*`)\)/g;

export function compiledSources(): Plugin {
  let isUsed = false;
  return {
    name: 'compiled sources',
    enforce: 'pre',
    configureVitest({ vitest: { config } }) {
      isUsed = !config.watch && !config.coverage.enabled;
    },
    async resolveId(source, importer) {
      if (!isUsed || importer === undefined || !source.startsWith('.')) return undefined;
      const path = resolve(dirname(importer), source);
      if (!isCompiled(path)) return undefined;
      const compiled = compiledName(join(await compileOnce(), relative(ROOT, path)));
      return { id: pathToFileURL(compiled).href, external: true };
    },
  };
}

let compiling: Promise<string> | undefined;

/** Compiles once for all projects of a run. */
const compileOnce = () => (compiling ??= compile());

/**
 * @returns the folder. Its name is a hash of its content, so concurrent runs with other sources use other
 *   folders.
 */
async function compile(): Promise<string> {
  const paths = (await Promise.all(FOLDERS.map(sourcesIn))).flat().sort();
  const texts = await Promise.all(paths.map((path) => readFile(path, 'utf8')));
  const hash = createHash('sha256').update(JSON.stringify([ROOT, version, String(inItsPlace), paths, texts]));
  const folder = join(CACHE, PREFIX + hash.digest('hex').slice(0, 16));
  if (await isMade(folder)) return folder;
  await removeOld();
  const unfinished = `${folder}-${process.pid}`;
  await build({
    absWorkingDir: ROOT,
    entryPoints: paths,
    outdir: unfinished,
    outbase: ROOT,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    // Vitest uses source maps to show where in the source an error came from.
    sourcemap: 'linked',
    sourcesContent: false,
    logLevel: 'warning',
    plugins: [inPlace(unfinished, new Map(paths.map((path, i) => [path, texts[i] ?? ''])))],
  });
  await rename(unfinished, folder).catch(async (error: unknown) => {
    await rm(unfinished, { recursive: true });
    // Another run may have finished the same folder first.
    if (!(await isMade(folder))) throw error;
  });
  return folder;
}

async function sourcesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  return names.map((name) => join(folder, name)).filter(isCompiled);
}

/** Whether the folder exists. The new time keeps removeOld from removing it. */
function isMade(folder: string): Promise<boolean> {
  const now = new Date();
  return utimes(folder, now, now).then(
    () => true,
    () => false,
  );
}

async function removeOld(): Promise<void> {
  for (const name of await readdir(CACHE).catch(() => [])) {
    if (!name.startsWith(PREFIX)) continue;
    const path = join(CACHE, name);
    // Null when another run has removed the folder.
    const found = await stat(path).catch(() => null);
    if (found !== null && Date.now() - found.mtimeMs > KEPT_MS)
      await rm(path, { recursive: true, force: true });
  }
}

/** Compiles each file separately. It finds the files beside its source. */
function inPlace(folder: string, texts: ReadonlyMap<string, string>): BuildPlugin {
  return {
    name: 'in place',
    setup({ onLoad, onResolve }) {
      onResolve({ filter: /^\./ }, ({ path, resolveDir }) => {
        const target = resolve(resolveDir, path);
        if (isCompiled(target)) return { path: compiledName(path), external: true };
        if (TYPESCRIPT.test(target))
          return { errors: [{ text: `${target} is not compiled: FOLDERS lacks its folder` }] };
        return { path: relative(join(folder, relative(ROOT, resolveDir)), target), external: true };
      });
      onLoad({ filter: TYPESCRIPT }, ({ path }) => {
        const source = (texts.get(path) ?? '').replaceAll(
          COMPUTED_IMPORT,
          "import($1.replace(/\\.tsx?$/, '.mjs'))",
        );
        return inItsPlace(path, source, JSON.stringify(pathToFileURL(path).href));
      });
    },
  };
}

/** Every file that is not a test is compiled. */
function isCompiled(path: string): boolean {
  return (
    TYPESCRIPT.test(path) &&
    !/\.(test|d)\.ts$/.test(path) &&
    FOLDERS.some((folder) => path.startsWith(`${folder}/`))
  );
}

const compiledName = (path: string) => path.replace(TYPESCRIPT, '.mjs');
