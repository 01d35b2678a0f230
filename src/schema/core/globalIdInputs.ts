/**
 * Checks the global ids of a field's input before they are decoded, and names the input path of a wrong one.
 * The Relay plugin, which decodes them, does not know their path.
 */
import SchemaBuilder, {
  BasePlugin,
  mapInputFields,
  type InputFieldsMapping,
  type InputTypeFieldsMapping,
  type PothosOutputFieldConfig,
  type SchemaTypes,
} from '@pothos/core';
import type { GraphQLFieldResolver } from 'graphql';
import { DomainError } from '../../lib/errors.ts';
import { readGlobalId } from './globalIds.ts';
import { showValue } from './showValue.ts';

const PLUGIN = 'globalIdInputs';
export default PLUGIN;

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      globalIdInputs: GlobalIdInputsPlugin<Types>;
    }
  }
}

/** The types that an id may have; empty for all. */
type Allowed = readonly string[];
type Mapping<Types extends SchemaTypes> = InputFieldsMapping<Types, Allowed>;

class GlobalIdInputsPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  private readonly known = new Map<string, InputTypeFieldsMapping<Types, Allowed>>();

  override wrapArgMappers(
    resolver: GraphQLFieldResolver<unknown, Types['Context'], object> | undefined,
    { args: config }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> | undefined {
    const ids = mapInputFields(
      config,
      this.buildCache,
      ({ extensions }) => allowedBy(extensions),
      this.known,
    );
    if (resolver === undefined || ids === null) return resolver;
    return (parent, args, context, info) => {
      requireGlobalIds(ids, args, []);
      return resolver(parent, args, context, info);
    };
  }
}

/** Recognises a global id by the mark of the Relay plugin; null for other inputs. */
function allowedBy(extensions: Readonly<Record<string, unknown>> | null | undefined): Allowed | null {
  if (extensions?.['isRelayGlobalID'] !== true) return null;
  const types = (extensions['relayGlobalIDFor'] ?? []) as readonly { typename: string }[];
  return types.map(({ typename }) => typename);
}

/** @throws DomainError BAD_USER_INPUT */
function requireGlobalIds<Types extends SchemaTypes>(
  ids: Mapping<Types>,
  values: object,
  path: readonly (string | number)[],
): void {
  for (const [name, mapping] of ids) {
    const value: unknown = Reflect.get(values, name);
    const items: unknown[] = Array.isArray(value) ? value : [value];
    for (const [index, item] of items.entries()) {
      if (item == null) continue;
      const here = [...path, name, ...(Array.isArray(value) ? [index] : [])];
      if (mapping.kind !== 'InputObject') requireGlobalId(item as string, mapping.value, here.join('.'));
      else if (mapping.fields.map) requireGlobalIds(mapping.fields.map, item, here);
    }
  }
}

function requireGlobalId(text: string, allowed: Allowed, field: string): void {
  const typename = readGlobalId(text)?.typename;
  if (typename !== undefined && (allowed.length === 0 || allowed.includes(typename))) return;
  const problem =
    typename === undefined
      ? 'must be an id that this server gave out'
      : `must be the id of ${allowed.join(' or ')}, not of ${typename}`;
  throw new DomainError('BAD_USER_INPUT', `${field} ${problem}; it is ${showValue(text)}.`, { field });
}

SchemaBuilder.registerPlugin(PLUGIN, GlobalIdInputsPlugin);
