/**
 * The fragments of a document by name, for code that walks an operation before it is executed.
 */
import { Kind, type DocumentNode, type FragmentDefinitionNode } from 'graphql';

export function fragmentsOf(document: DocumentNode): ReadonlyMap<string, FragmentDefinitionNode> {
  return new Map(
    document.definitions.flatMap((part) =>
      part.kind === Kind.FRAGMENT_DEFINITION ? [[part.name.value, part] as const] : [],
    ),
  );
}
