/**
 * Where the compiled form of a program lies that a test starts as a process.
 */
import { inject } from 'vitest';
import { compiledPath } from '../../../devnet/compilePrograms.ts';
import type { Program } from './programList.ts';

/** To be run by `process.execPath`. */
export function pathOf(program: Program): string {
  return compiledPath(inject('programsFolder'), program);
}
