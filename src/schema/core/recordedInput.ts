/**
 * The parts of a mutation's input that the audit log and the log may contain. Each mutation declares them for
 * each field of its input; a missing declaration or field is an error when the schema is built.
 *
 *   recordedInput: { targets: ['buyerId'], shown: ['amountCO2e'], hidden: ['note'] }
 *
 * A mutation whose input has no idempotency key also says why a repeated request does no harm:
 *
 *   safeWithoutKey: 'deciding what is decided is a CONFLICT'
 */
import SchemaBuilder, {
  BasePlugin,
  type FieldNullability,
  type InputFieldMap,
  type PothosOutputFieldConfig,
  type SchemaTypes,
  type TypeParam,
} from '@pothos/core';
import {
  getNamedType,
  isInputObjectType,
  type GraphQLField,
  type GraphQLFieldResolver,
  type GraphQLSchema,
} from 'graphql';
import type { Context } from './context.ts';

/**
 * Names of arguments, and of the fields of arguments that are input objects. Deeper fields follow their
 * parent.
 */
export interface RecordedInput {
  /** Ids and addresses of the mutation's targets: kept by the audit log, shown by the log. */
  targets?: readonly string[];
  /** Sizes, kinds and other public facts: shown by the log. */
  shown?: readonly string[];
  /** Names, accounts, words and signatures of people: in neither log. */
  hidden?: readonly string[];
  /**
   * True when the mutation's only transaction writes the entry of the audit log, `context.entry`, with its
   * effect. Otherwise the entry is written before the mutation runs.
   */
  isEntryWithEffect?: boolean;
}

type Field = Pick<GraphQLField<unknown, unknown>, 'extensions'>;

/** Reads the declaration of a field of Mutation, in a schema made with the plugin. */
export function recordedInputOf(field: Field): RecordedInput {
  return field.extensions[PLUGIN] ?? {};
}

const PLUGIN = 'recordedInput';
export default PLUGIN;

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      recordedInput: RecordedInputPlugin<Types>;
    }
    export interface MutationFieldOptions<
      Types extends SchemaTypes,
      Type extends TypeParam<Types>,
      Nullable extends FieldNullability<Type>,
      Args extends InputFieldMap,
      ResolveReturnShape,
    > {
      recordedInput: RecordedInput;
      /**
       * Why a request may be repeated without an idempotency key; only for a mutation whose input has no key.
       */
      safeWithoutKey?: string;
    }
  }
}

class RecordedInputPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    if (config.kind !== 'Mutation') return config;
    const { recordedInput, safeWithoutKey } = config.pothosOptions;
    const extensions = { ...config.extensions, [PLUGIN]: recordedInput, safeWithoutKey };
    return { ...config, extensions };
  }

  /** This plugin is the innermost around a resolver, so scopes and input have been checked. */
  override wrapResolve(
    resolve: GraphQLFieldResolver<unknown, Types['Context'], object>,
    config: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    if (config.kind !== 'Mutation') return resolve;
    // afterBuild reports a missing declaration, with the name of its mutation.
    const declared: RecordedInput | undefined = config.pothosOptions.recordedInput;
    const isEntryWithEffect = declared?.isEntryWithEffect ?? false;
    return async (parent, args, context, info) => {
      await beginEntry(context as Context<unknown>, isEntryWithEffect);
      return resolve(parent, args, context, info);
    };
  }

  override afterBuild(schema: GraphQLSchema): GraphQLSchema {
    for (const field of Object.values(schema.getMutationType()?.getFields() ?? {})) {
      requireDeclared(field);
      requireKeyOrReason(field);
    }
    return schema;
  }
}

/** @throws DomainError OVERLOADED when the entry can't be written */
async function beginEntry(context: Context<unknown>, isEntryWithEffect: boolean): Promise<void> {
  const { audited } = context;
  if (audited === undefined) return;
  audited.isAdmitted = true;
  if (isEntryWithEffect) context.entry = audited.entry;
  else await audited.entry.begin();
}

/** @throws Error */
function requireDeclared(field: GraphQLField<unknown, unknown>): void {
  const { targets = [], shown = [], hidden = [] } = recordedInputOf(field);
  const declared = [...targets, ...shown, ...hidden];
  const input = inputNames(field);
  const undeclared = [...input].filter((name) => !declared.includes(name));
  const unknown = declared.filter((name, at) => !input.has(name) || declared.indexOf(name) !== at);
  const wrong = [
    ...undeclared.map((name) => `lacks ${name}`),
    ...unknown.map((name) => `names ${name}, which is twice there or no field of the input`),
  ];
  if (wrong.length > 0) throw new Error(`recordedInput of Mutation.${field.name} ${wrong.join(', ')}.`);
}

/** @throws Error */
function requireKeyOrReason(field: GraphQLField<unknown, unknown>): void {
  const hasKey = inputNames(field).has('idempotencyKey');
  const hasReason = Boolean(field.extensions['safeWithoutKey']);
  if (hasKey === hasReason) {
    throw new Error(
      `Mutation.${field.name} must have either an idempotencyKey in its input or safeWithoutKey, not ` +
        `${hasKey ? 'both' : 'neither: a client that gets no answer repeats its request'}.`,
    );
  }
}

function inputNames(field: GraphQLField<unknown, unknown>): ReadonlySet<string> {
  return new Set(
    field.args.flatMap(({ name, type }) => {
      const named = getNamedType(type);
      return isInputObjectType(named) ? Object.keys(named.getFields()) : [name];
    }),
  );
}

SchemaBuilder.registerPlugin(PLUGIN, RecordedInputPlugin);
