/**
 * An operation's own fields: what it asks for, before anything of it runs.
 */
import type { DocumentNode, OperationDefinitionNode, SelectionNode, SelectionSetNode } from 'graphql';
import { Kind } from 'graphql';

export interface RootField {
  name: string;
  /** Whether @skip or @include decides about it. */
  isConditional: boolean;
}

/** As often as they are asked for; a fragment's once. */
export function rootFields(document: DocumentNode, operation: OperationDefinitionNode): RootField[] {
  const fragments = new Map(
    document.definitions.flatMap((part) =>
      part.kind === Kind.FRAGMENT_DEFINITION ? [[part.name.value, part] as const] : [],
    ),
  );
  const fields: RootField[] = [];
  const visited = new Set<string>();
  const collect = ({ selections }: SelectionSetNode, isInherited: boolean) => {
    for (const selection of selections) {
      const isConditional = isInherited || hasCondition(selection);
      if (selection.kind === Kind.FIELD) fields.push({ name: selection.name.value, isConditional });
      else if (selection.kind === Kind.INLINE_FRAGMENT) collect(selection.selectionSet, isConditional);
      else if (!visited.has(selection.name.value)) {
        visited.add(selection.name.value);
        const fragment = fragments.get(selection.name.value);
        if (fragment !== undefined) collect(fragment.selectionSet, isConditional);
      }
    }
  };
  collect(operation.selectionSet, false);
  return fields;
}

function hasCondition({ directives }: SelectionNode): boolean {
  return (directives ?? []).some(({ name }) => name.value === 'skip' || name.value === 'include');
}
