/**
 * Bundles programs into a few files each. `scripts/build.mjs` uses it for `npm start`, and the tests for the
 * processes that they start.
 */
import { readFile } from 'node:fs/promises';
import { relative } from 'node:path';

/**
 * Not bundled: packages that read files beside their own, and one that Node would warn about outside of
 * node_modules, because of a package that it uses.
 */
const LEFT_IN_PLACE = ['pino', 'pdfkit', '@stellar/stellar-base'];

/**
 * Options of esbuild.
 * @param {string} folder folder of the output, below the project: the packages that are not bundled are found
 *   from there
 */
export function bundled(folder) {
  return {
    outdir: folder,
    // One folder for all files, because keepPlaces makes paths relative to it.
    entryNames: '[name]',
    // Bundling drops the unused parts of a package that is imported as a namespace: three quarters of zod
    // (`import * as z from 'zod'`).
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    // Splitting loads dynamic imports, such as the adapter of the network, only when the program imports
    // them.
    splitting: true,
    external: LEFT_IN_PLACE,
    // The ES module build of graphql: its unused parts are dropped, and its functions call each other
    // directly.
    alias: { graphql: 'graphql/index.mjs' },
    // Without this constant, GraphQL looks for a second copy of itself at every field of a response.
    define: { 'process.env.NODE_ENV': '"production"' },
    plugins: [keepPlaces(folder)],
    // Packages in CommonJS format load others with `require`.
    banner: {
      js: "import * as nodeModule from 'node:module';\nconst require = nodeModule.createRequire(import.meta.url);",
    },
    logLevel: 'warning',
  };
}

/** Lets a source file find the files around it, such as migrations, as if it still lay in its own place. */
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
 * Prepares a source file for esbuild whose output lies in another folder.
 * @param {string} path
 * @param {string} source
 * @param {string} url an expression for the URL of the source file
 * @returns {{ contents: string, loader: 'ts' | 'tsx' }}
 */
export function inItsPlace(path, source, url) {
  return {
    contents: source.replaceAll('import.meta.url', url),
    loader: path.endsWith('x') ? 'tsx' : 'ts',
  };
}
