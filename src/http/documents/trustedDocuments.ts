/**
 * Trusted documents, which the operator has put into a file or folder, and which are read at the start.
 *
 *   *.json       ids with documents, as codegen's client preset (persisted-documents.json) and Relay's
 *                compiler write them; or Apollo's manifest of persisted queries
 *   *.graphql    operations and fragments, in any of the files; an operation's id is the SHA-256 of its text
 *                with the fragments that it uses, as graphql-js prints them
 */
import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Kind, OperationTypeNode, parse, print, separateOperations, validate } from 'graphql';
import type { DefinitionNode, DocumentNode, GraphQLSchema, SelectionNode, SelectionSetNode } from 'graphql';
import * as z from 'zod';
import { messageOf } from '../../lib/errors.ts';
import { StartupError } from '../../lib/startupErrors.ts';
import { createDocumentCache } from './documentCache.ts';
import { parseDocument } from './parseDocument.ts';

export interface TrustedDocuments {
  readonly size: number;
  textOf(id: string): string | undefined;
  /**
   * Whether a text is a trusted document but for layout, the order of its parts and fields, and `__typename`.
   */
  hasText(text: string): boolean;
  /** What is wrong with each document that does not fit the schema. */
  problems(schema: GraphQLSchema): string[];
}

interface SourceFile {
  path: string;
  text: string;
}

const idsWithTexts = z.record(z.string(), z.string());
const apolloManifest = z.object({
  format: z.literal('apollo-persisted-query-manifest'),
  version: z.literal(1),
  operations: z.array(z.object({ id: z.string(), body: z.string() })),
});

/** @throws StartupError when the path is unreadable, a file has another format, or there is no document */
export async function readTrustedDocuments(path: string): Promise<TrustedDocuments> {
  const files = await readFiles(path);
  const documents = new Map<string, string>();
  const ofJson = files.filter(({ path: name }) => name.endsWith('.json')).flatMap(documentsOfJson);
  const ofGraphql = documentsOfGraphql(files.filter(({ path: name }) => !name.endsWith('.json')));
  for (const [id, text] of [...ofJson, ...ofGraphql]) {
    const other = documents.get(id);
    if (other !== undefined && other !== text) {
      throw new StartupError(`TRUSTED_DOCUMENTS: two different documents in ${path} have the id ${id}.`);
    }
    documents.set(id, text);
  }
  if (documents.size === 0) {
    throw new StartupError(`TRUSTED_DOCUMENTS: there is no document in ${path} (*.json, *.graphql, *.gql).`);
  }
  return trustedDocuments(documents);
}

function trustedDocuments(documents: ReadonlyMap<string, string>): TrustedDocuments {
  const texts = new Set(documents.values());
  const canonicalTexts = new Set([...texts].map((text) => canonical(parse(text))));
  /** Other texts of the same documents. A client sends its own text with each request. */
  const variants = createDocumentCache<true>();
  return {
    size: documents.size,
    textOf: (id) => documents.get(id),
    hasText(text) {
      if (texts.has(text) || variants.get(text) === true) return true;
      try {
        if (!canonicalTexts.has(canonical(parseDocument(text)))) return false;
      } catch {
        return false;
      }
      variants.set(text, true);
      return true;
    },
    problems: (schema) =>
      [...documents].flatMap(([id, text]) =>
        validate(schema, parse(text)).map(({ message }) => `${nameOf(text)} (${id}): ${message}`),
      ),
  };
}

async function readFiles(path: string): Promise<SourceFile[]> {
  try {
    const isFolder = (await stat(path)).isDirectory();
    const names = isFolder ? await readdir(path, { recursive: true }) : [''];
    const paths = names.map((name) => (isFolder ? join(path, name) : path));
    const wanted = isFolder ? paths.filter((name) => /\.(json|graphql|gql)$/.test(name)) : paths;
    return await Promise.all(
      wanted.toSorted().map(async (name) => ({ path: name, text: await readFile(name, 'utf8') })),
    );
  } catch (error) {
    throw new StartupError(`TRUSTED_DOCUMENTS can't be read: ${messageOf(error)}`);
  }
}

function orSayWhere<T>(place: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new StartupError(`TRUSTED_DOCUMENTS: ${place}: ${messageOf(error)}`);
  }
}

function documentsOfJson({ path, text }: SourceFile): [string, string][] {
  const entries = entriesOfJson(path, text);
  for (const [id, document] of entries) orSayWhere(`${path}, document ${id}`, () => parse(document));
  return entries;
}

function entriesOfJson(path: string, text: string): [string, string][] {
  const json = orSayWhere(`${path} is not JSON`, (): unknown => JSON.parse(text));
  const manifest = apolloManifest.safeParse(json);
  if (manifest.success) return manifest.data.operations.map(({ id, body }) => [id, body]);
  const ids = idsWithTexts.safeParse(json);
  if (ids.success) return Object.entries(ids.data);
  throw new StartupError(
    `TRUSTED_DOCUMENTS: ${path} must be an object of ids with documents, or Apollo's manifest of persisted queries. ` +
      'Name the file with the documents, or a folder without other .json files.',
  );
}

/** Each operation and then the fragments that it uses, in the order of the files' paths. */
function documentsOfGraphql(files: readonly SourceFile[]): [string, string][] {
  const definitions = files.flatMap(({ path, text }) => orSayWhere(path, () => parse(text)).definitions);
  const fragments = definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION);
  return definitions.flatMap((definition): [string, string][] => {
    if (definition.kind !== Kind.OPERATION_DEFINITION) return [];
    const all: DocumentNode = { kind: Kind.DOCUMENT, definitions: [definition, ...fragments] };
    const text = Object.values(separateOperations(all)).map(print).join('\n\n');
    return [[createHash('sha256').update(text).digest('hex'), text]];
  });
}

/**
 * One text for documents that mean the same: client caches add `__typename`, bundlers order fragments, and
 * codegen orders fields. A mutation's root fields run in their order, so they keep it, also in fragments.
 */
function canonical(document: DocumentNode): string {
  return document.definitions
    .map((node) => textOf(node))
    .sort()
    .join('\n');
}

/**
 * Prints each node once, without its selections: otherwise a field would be printed again for each field
 * around it.
 */
function textOf(node: DefinitionNode | SelectionNode, isOfMutation = false): string {
  if (!('selectionSet' in node) || node.selectionSet === undefined) return print(node);
  const selectsOfMutation = selectsFieldsOfMutation(node, isOfMutation);
  const texts = node.selectionSet.selections
    .filter((part) => !isTypename(part))
    .map((part) => textOf(part, selectsOfMutation));
  if (!selectsOfMutation) texts.sort();
  return `${print({ ...node, selectionSet: NOTHING })}{${texts.join(' ')}}`;
}

const NOTHING: SelectionSetNode = { kind: Kind.SELECTION_SET, selections: [] };

/** @param isOfMutation whether the node itself is selected on the mutation's root */
function selectsFieldsOfMutation(node: DefinitionNode | SelectionNode, isOfMutation: boolean): boolean {
  if (node.kind === Kind.OPERATION_DEFINITION) return node.operation === OperationTypeNode.MUTATION;
  if (node.kind === Kind.FRAGMENT_DEFINITION) return node.typeCondition.name.value === 'Mutation';
  return node.kind === Kind.INLINE_FRAGMENT && isOfMutation;
}

function isTypename(node: SelectionNode): boolean {
  return (
    node.kind === Kind.FIELD &&
    node.name.value === '__typename' &&
    node.alias === undefined &&
    (node.directives ?? []).length === 0
  );
}

function nameOf(text: string): string {
  const operation = parse(text).definitions.find(({ kind }) => kind === Kind.OPERATION_DEFINITION);
  return (operation?.kind === Kind.OPERATION_DEFINITION && operation.name?.value) || 'a document';
}
