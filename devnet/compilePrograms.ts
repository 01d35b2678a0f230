/**
 * Compiles the programs that tests start as processes, once per run. Through tsx each start costs a second of a core;
 * hundreds of them are most of what a run would take.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { bundled } from '../scripts/bundle.mjs';

const ROOT = fileURLToPath(new URL('../', import.meta.url));

/** Below the project, so that what is not compiled in is found in its node_modules. */
export const programsFolderOf = (runId: string) => join(ROOT, 'node_modules/.cache', `programs-${runId}`);

/**
 * Everything else that a program imports goes into its few files, which start in a fifth of a second.
 * @param programs their paths from the root of the project
 */
export async function compilePrograms(folder: string, programs: readonly string[]): Promise<void> {
  await build({
    ...bundled(folder),
    // Less to read at hundreds of starts: a sixth of what one costs. Names stay, for stacks.
    minifyWhitespace: true,
    minifySyntax: true,
    // All in one folder: they find other files from there.
    entryPoints: programs.map((program) => ({ in: join(ROOT, program), out: nameOf(program) })),
    // Below node_modules, a file's name alone decides its format.
    outExtension: { '.js': '.mjs' },
  });
}

export function compiledPath(folder: string, program: string): string {
  return join(folder, `${nameOf(program)}.mjs`);
}

/** With its folders, because several programs are called `main.ts`. */
function nameOf(program: string): string {
  return program.replace(/\.ts$/, '').replaceAll('/', '-');
}
