/**
 * The root fields of an operation, before it runs.
 */
import type { DocumentNode, OperationDefinitionNode, SelectionNode, SelectionSetNode } from 'graphql';
import { Kind } from 'graphql';
import { fragmentsOf } from '../../limits/fragments.ts';

export interface RootField {
  name: string;
  /** Whether the field, or a fragment around it, has @skip or @include. */
  isConditional: boolean;
}

/** One entry for each selection; a fragment's fields once. */
export function rootFields(document: DocumentNode, operation: OperationDefinitionNode): RootField[] {
  const fragments = fragmentsOf(document);
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
