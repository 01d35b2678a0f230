import type { BuildOptions } from 'esbuild';

export function bundled(folder: string): BuildOptions;

export function inItsPlace(
  path: string,
  source: string,
  url: string,
): { contents: string; loader: 'ts' | 'tsx' };
