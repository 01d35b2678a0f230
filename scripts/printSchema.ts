/**
 * `npm run schema:print` writes the GraphQL contract to schema.graphql; `npm run schema:check` fails when the
 * committed file differs from the code.
 */
import { lexicographicSortSchema, printSchema } from 'graphql';
import { schema } from '../src/schema/index.ts';
import { runPrinting } from './printedFile.ts';

await runPrinting('printSchema', 'Prints the GraphQL contract, sorted, to schema.graphql.', () => [
  {
    path: 'schema.graphql',
    contents: `${printSchema(lexicographicSortSchema(schema))}\n`,
    script: 'schema:print',
  },
]);
