/**
 * Generates src/graphql/ from the contract and src/operations.graphql: `npm run examples:generate`. With
 * @graphql-codegen/cli the same settings are in its codegen.ts.
 */
import { readFile, writeFile, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { codegen } from '@graphql-codegen/core';
import type { Types } from '@graphql-codegen/plugin-helpers';
import { preset } from '@graphql-codegen/client-preset';
import { Kind, parse, visit } from 'graphql';
import type { DocumentNode, FieldNode } from 'graphql';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const CONTRACT = fileURLToPath(new URL('../../schema.graphql', import.meta.url));
const OPERATIONS = join(HERE, 'src/operations.graphql');
const OUTPUT = join(HERE, 'src/graphql/');

/** All others are texts: amounts are decimal strings, because numbers of JavaScript end at 2^53. */
const SCALARS = {
  Tonnes: { input: 'number | string', output: 'string' },
  Kilograms: { input: 'number | string', output: 'string' },
  UnixTime: 'number',
};

interface GeneratedFile {
  path: string;
  contents: string;
}

export async function generate(): Promise<GeneratedFile[]> {
  const schema = parse(await readFile(CONTRACT, 'utf8'));
  const rawSDL = await readFile(OPERATIONS, 'utf8');
  const documents: Types.DocumentFile[] = [{ location: OPERATIONS, rawSDL, document: parse(rawSDL) }];
  const outputs = await preset.buildGeneratesSection({
    baseOutputDir: OUTPUT,
    presetConfig: {
      // The ids of the operations, for DOCUMENTS=trusted.
      persistedDocuments: { hashAlgorithm: 'sha256' },
      fragmentMasking: false,
    },
    config: {
      scalars: SCALARS,
      defaultScalarType: 'string',
      useTypeImports: true,
      enumType: 'string-literal',
      importExtension: '.ts',
    },
    documents,
    schema,
    schemaAst: undefined,
    plugins: [],
    pluginMap: {},
    // Apollo's cache needs the type's name, and a client can't add it to a document that is run by its id.
    documentTransforms: [{ transformObject: { transform: withTypenames }, config: {} }],
  } as unknown as Types.PresetFnArgs<object>);
  const files: GeneratedFile[] = [];
  // In this order: the file of ids is made of what the others have found.
  for (const output of outputs) files.push({ path: output.filename, contents: await codegen(output) });
  // gql.ts is for operations that stand in the program's own files.
  return files.filter(({ path }) => /(graphql\.ts|persisted-documents\.json)$/.test(path));
}

const TYPENAME: FieldNode = { kind: Kind.FIELD, name: { kind: Kind.NAME, value: '__typename' } };

/** Where Apollo Client adds it itself: not at the root, where a subscription may have one field alone. */
function withTypenames({ documents }: { documents: Types.DocumentFile[] }): Types.DocumentFile[] {
  return documents.map((file) => ({ ...file, document: file.document && withTypename(file.document) }));
}

function withTypename(document: DocumentNode): DocumentNode {
  return visit(document, {
    SelectionSet: (node, _key, parent) =>
      parent !== undefined && 'kind' in parent && parent.kind === Kind.OPERATION_DEFINITION
        ? undefined
        : { ...node, selections: [...node.selections, TYPENAME] },
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const { path, contents } of await generate()) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, contents);
  }
}
