/**
 * Compiles the programs that tests start as processes, once per run. With tsx each start takes a second of a
 * core, and a run starts hundreds of them.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { bundled } from '../scripts/bundle.mjs';

const ROOT = fileURLToPath(new URL('../', import.meta.url));

/** Below the project, so that imports that are not compiled in are found in its node_modules. */
export const programsFolderOf = (runId: string) => join(ROOT, 'node_modules/.cache', `programs-${runId}`);

/**
 * Bundles a program with all its imports into a few files, which start in a fifth of a second.
 * @param programs their paths from the root of the project
 */
export async function compilePrograms(folder: string, programs: readonly string[]): Promise<void> {
  await build({
    ...bundled(folder),
    // Smaller files save a sixth of the time of a start, hundreds of times. Names stay, for stack traces.
    minifyWhitespace: true,
    minifySyntax: true,
    // All programs are in one folder, from which they find other files.
    entryPoints: programs.map((program) => ({ in: join(ROOT, program), out: nameOf(program) })),
    // Below node_modules, only a file's name decides its format.
    outExtension: { '.js': '.mjs' },
  });
}

export function compiledPath(folder: string, program: string): string {
  return join(folder, `${nameOf(program)}.mjs`);
}

/** The name includes the folders, because several programs are called `main.ts`. */
function nameOf(program: string): string {
  return program.replace(/\.ts$/, '').replaceAll('/', '-');
}
