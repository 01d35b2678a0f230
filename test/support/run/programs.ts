/**
 * Paths of the compiled programs that tests start as processes.
 */
import { inject } from 'vitest';
import { compiledPath } from '../../../devnet/compilePrograms.ts';
import type { Program } from './programList.ts';

/** Returns the path for `process.execPath`. */
export function pathOf(program: Program): string {
  return compiledPath(inject('programsFolder'), program);
}
