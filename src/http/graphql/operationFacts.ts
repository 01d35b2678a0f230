/**
 * Facts about the text of an operation, found once for each parsed document: clients repeat their documents,
 * and their variables rarely change how large an operation is.
 */
import type { DocumentNode, GraphQLSchema, OperationDefinitionNode } from 'graphql';
import { BREAK, Kind, visit } from 'graphql';
import { requireAnswerWithinLimit } from '../../limits/estimateAnswer.ts';
import { requireIntrospectionWithinLimit } from '../../limits/introspectionCost.ts';
import {
  measure,
  requireAffordable,
  type OperationLimits,
  type OperationSize,
} from '../../limits/operationCost.ts';
import { rootFields, type RootField } from './rootFields.ts';
import { getOrMake } from '../../lib/getOrMake.ts';

interface OperationFacts {
  roots: readonly RootField[];
  /** True on the first call alone: the first run works everything out for the first time. */
  isFirstRun(): boolean;
  /** Whether the operation is known to be modest with any variables. */
  isKnownWithinLimits(): boolean;
  /** @throws the errors of coercing arguments */
  sizeOf(variables: Record<string, unknown>): OperationSize;
  /** @throws DomainError OPERATION_TOO_LARGE */
  requireWithinLimits(size: OperationSize, variables: Record<string, unknown>): void;
}

export type FindFacts = (document: DocumentNode, operation: OperationDefinitionNode) => OperationFacts;

export function createOperationFacts(schema: GraphQLSchema, limits: OperationLimits): FindFacts {
  const known = new WeakMap<OperationDefinitionNode, OperationFacts>();
  return (document, operation) =>
    getOrMake(known, operation, () => readFacts(schema, limits, document, operation));
}

function readFacts(
  schema: GraphQLSchema,
  limits: OperationLimits,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): OperationFacts {
  const isFixed = !variablesMatter(document);
  let fixedSize: OperationSize | undefined;
  let isKnownWithinLimits = false;
  let hasRun = false;
  return {
    roots: rootFields(document, operation),
    isFirstRun() {
      const isFirst = !hasRun;
      hasRun = true;
      return isFirst;
    },
    isKnownWithinLimits: () => isKnownWithinLimits,
    sizeOf(variables) {
      if (fixedSize !== undefined) return fixedSize;
      const size = measure(schema, document, operation, variables);
      if (isFixed) fixedSize = size;
      return size;
    },
    requireWithinLimits(size, variables) {
      if (isKnownWithinLimits) return;
      requireAffordable(size, limits);
      requireIntrospectionWithinLimit(schema, document, operation);
      requireAnswerWithinLimit(schema, document, operation, variables);
      isKnownWithinLimits = isFixed;
    },
  };
}

/**
 * Whether variables affect the size of an operation: they give the sizes of pages, and a variable that may be
 * null in spite of its default can make coercing a page's arguments fail.
 */
function variablesMatter(document: DocumentNode): boolean {
  let matter = false;
  const found = () => {
    matter = true;
    return BREAK;
  };
  visit(document, {
    VariableDefinition: ({ type, defaultValue }) =>
      defaultValue !== undefined && type.kind !== Kind.NON_NULL_TYPE ? found() : undefined,
    Argument: ({ name, value }) =>
      value.kind === Kind.VARIABLE && (name.value === 'first' || name.value === 'last') ? found() : undefined,
  });
  return matter;
}
