/**
 * Compiles the programs that tests start as processes, once per run. Through tsx each start costs a second of a core;
 * hundreds of them are most of what a run would take.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** By their paths from the root of the project. */
const PROGRAMS = [
  'src/main.ts',
  'src/cli/ledgerChannels.ts',
  'src/cli/ledgerCheck.ts',
  'src/cli/reconcile.ts',
  'src/cli/sealingRotate.ts',
  'src/cli/wallet.ts',
  'test/crash/instance.ts',
  'test/support/database/embeddedPostgresHolder.ts',
  'test/support/database/reaper.ts',
  'test/support/evm/anvilHolder.ts',
] as const;

/** Below the project, so that what is not compiled in is found in its node_modules. */
export const programsFolderOf = (runId: string) =>
  join(ROOT, 'node_modules/.cache', `test-programs-${runId}`);

export type Program = (typeof PROGRAMS)[number];

/** The programs find their files, such as migrations, from where their sources lie. */
const sourceUrls: Plugin = {
  name: 'source-urls',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      if (path.includes('node_modules')) return null;
      const source = await readFile(path, 'utf8');
      const url = JSON.stringify(pathToFileURL(path).href);
      return { contents: source.replaceAll('import.meta.url', url), loader: 'ts' };
    });
  },
};

/** Everything else that a program imports goes into its one file, which starts in a fifth of a second. */
export async function compilePrograms(folder: string): Promise<void> {
  await build({
    entryPoints: PROGRAMS.map((program) => join(ROOT, program)),
    outbase: ROOT,
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    // Packages that are CommonJS call require.
    banner: {
      js: `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(${JSON.stringify(pathToFileURL(ROOT).href)});`,
    },
    // It starts a thread on a file of its own package.
    external: ['pino'],
    plugins: [sourceUrls],
    logLevel: 'warning',
  });
}

export function compiledPath(folder: string, program: Program): string {
  return join(folder, program.replace(/\.ts$/, '.mjs'));
}
