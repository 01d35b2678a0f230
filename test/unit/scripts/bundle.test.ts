import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { expect, it } from 'vitest';
import { bundled } from '../../../scripts/bundle.mjs';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

it('programs have one copy of graphql, whatever the format of what asks for it: two know nothing of each other’s errors', async () => {
  const { metafile } = await build({
    ...bundled(`${ROOT}/build`),
    absWorkingDir: ROOT,
    entryPoints: ['src/main.ts', 'src/cli/reconcile.ts'],
    write: false,
    metafile: true,
  });
  const ofGraphql = Object.keys(metafile.inputs).filter((path) => path.includes('node_modules/graphql/'));
  expect(ofGraphql).toContain('node_modules/graphql/error/GraphQLError.mjs');
  expect(ofGraphql.filter((path) => !path.endsWith('.mjs'))).toEqual([]);
  const leftInPlace = Object.values(metafile.outputs).flatMap(({ imports }) =>
    imports.filter(({ external }) => external === true).map(({ path }) => path),
  );
  expect(leftInPlace).toContain('pino');
  expect(leftInPlace.filter((path) => path.startsWith('graphql'))).toEqual([]);
});
