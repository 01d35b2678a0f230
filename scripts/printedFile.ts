/**
 * Files that are printed from the code and committed. They are written, or compared with what the code prints
 * now.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import { StartupError } from '../src/lib/startupErrors.ts';
import { runCommand } from '../src/cli/runCommand.ts';

interface PrintedFile {
  /** Relative to the repository's root. */
  path: string;
  contents: string;
  /** The npm script that prints the file, for the error message. */
  script: string;
}

const ROOT = new URL('../', import.meta.url);

/** Writes the files; with `--check` it fails when one of them differs from the code. */
export async function runPrinting(
  name: string,
  description: string,
  print: () => Promise<PrintedFile[]> | PrintedFile[],
): Promise<void> {
  const command = new Command(name)
    .description(description)
    .option('--check', 'write nothing; fail when what is committed differs from the code')
    .action(async ({ check = false }: { check?: boolean }) => {
      for (const file of await print()) await (check ? checkPrintedFile(file) : writePrintedFile(file));
    });
  await runCommand(command);
}

async function writePrintedFile({ path, contents }: PrintedFile): Promise<void> {
  await writeFile(new URL(path, ROOT), contents);
}

/** @throws StartupError when the committed file differs from the code. */
async function checkPrintedFile({ path, contents, script }: PrintedFile): Promise<void> {
  const committed = await readFile(new URL(path, ROOT), 'utf8').catch(() => '');
  if (committed === contents) return;
  throw new StartupError(
    `${path} differs from the code, first in line ${firstDifference(committed, contents)}. ` +
      `Run "npm run ${script}", look at the difference, and commit it.`,
  );
}

function firstDifference(a: string, b: string): number {
  const [linesA, linesB] = [a.split('\n'), b.split('\n')];
  return linesB.findIndex((line, i) => line !== linesA[i]) + 1 || linesB.length + 1;
}
