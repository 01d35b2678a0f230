import type { BuildOptions } from 'esbuild';

export function bundled(folder: string): BuildOptions;
