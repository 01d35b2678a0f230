/**
 * How programs are put into a few files each: `scripts/build.mjs` for `npm start`, and the tests for the processes that they start.
 */
import { readFile } from 'node:fs/promises';
import { relative } from 'node:path';

/** What reads files that lie beside it; and what Node warns of outside of node_modules, because of a package that it uses. */
const LEFT_IN_PLACE = ['pino', 'pdfkit', '@stellar/stellar-base'];

/**
 * Options of esbuild.
 * @param {string} folder where the files go, below the project: what is left in place is found from there
 */
export function bundled(folder) {
  return {
    outdir: folder,
    // All of them in one folder: what is put into them finds its place from there.
    entryNames: '[name]',
    // Of a package that is imported as a namespace, only what is used goes in: a quarter of zod (`import * as z from 'zod'`).
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    // What is imported while a program runs, such as the adapter of its network, is not loaded before.
    splitting: true,
    external: LEFT_IN_PLACE,
    // Its newer format, of which only what is used goes in, and whose functions call each other directly.
    alias: { graphql: 'graphql/index.mjs' },
    // Otherwise GraphQL looks for a second copy of itself at every field of an answer.
    define: { 'process.env.NODE_ENV': '"production"' },
    plugins: [keepPlaces(folder)],
    // Packages in the older format ask for others by `require`.
    banner: {
      js: "import * as nodeModule from 'node:module';\nconst require = nodeModule.createRequire(import.meta.url);",
    },
    logLevel: 'warning',
  };
}

/** A source file finds the files around it, such as migrations, as if it still lay in its own place. */
function keepPlaces(folder) {
  return {
    name: 'keep places',
    setup({ onLoad }) {
      onLoad({ filter: /\.tsx?$/ }, async ({ path }) => {
        if (path.includes('node_modules')) return undefined;
        const source = await readFile(path, 'utf8');
        const place = JSON.stringify(relative(folder, path).replaceAll('\\', '/'));
        return inItsPlace(path, source, `new URL(${place}, import.meta.url).href`);
      });
    },
  };
}

/**
 * A source file for esbuild, of which the output lies elsewhere.
 * @param {string} path
 * @param {string} source
 * @param {string} url an expression for the URL of the file itself
 * @returns {{ contents: string, loader: 'ts' | 'tsx' }}
 */
export function inItsPlace(path, source, url) {
  return {
    contents: source.replaceAll('import.meta.url', url),
    loader: path.endsWith('x') ? 'tsx' : 'ts',
  };
}
