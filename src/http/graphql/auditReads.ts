/**
 * Writes to the audit log which data of others an operator reads, before the answer is sent: one entry for
 * each root field of a query, with all owners whose data it showed, and one for each subscription to an
 * object.
 *
 *   a field of Query begins ─▶ objects of others are met below it ─▶ entries are written ─▶ answer is sent
 *                                                                         └─not written: OVERLOADED, no data
 *
 * Other callers read only their own data, so nothing is written for them.
 */
import type { ExecutionResult, GraphQLField, GraphQLFieldResolver, GraphQLSchema } from 'graphql';
import { defaultFieldResolver, getNamedType, isObjectType } from 'graphql';
import { auditUnavailable, type WriteRead } from '../../identity/auditLog.ts';
import type { Caller } from '../../identity/roles.ts';
import { chunksOf } from '../../lib/chunksOf.ts';
import { isOperator } from '../../schema/core/caller.ts';
import type { Context } from '../../schema/core/context.ts';
import { localId } from '../../schema/core/globalIds.ts';
import { ownersOf } from '../../schema/core/ownedBy.ts';
import { isSafeTarget } from './auditTargets.ts';

/** Maximum targets of one entry, so that a row stays small; further targets are in further entries. */
const MAX_TARGETS = 256;
/** Arguments and filter members that say whose data is asked for. Even a count of such data gets an entry. */
const OWNERS = new Set(['buyerId', 'buyerIds', 'farmerAddresses', 'farmerIds', 'lenderIds', 'warehouseIds']);
/** Arguments and filter members that name the requested objects. */
const OBJECTS = new Set(['id', 'ids', 'tokenAddress']);

type Path = { readonly prev: Path | undefined; readonly key: string | number };
type ReadContext = Pick<Context<unknown>, 'audit' | 'caller' | 'requestId' | 'remoteAddress'>;
type Resolver = GraphQLFieldResolver<unknown, ReadContext, Record<string, unknown>>;

/** What one root field of a query has shown so far. */
interface FieldReads {
  write: WriteRead;
  /** Others whose data the field has shown. */
  owners: Set<string>;
  /** Others whose data the arguments ask for. */
  named: readonly string[];
  /** Objects that the arguments ask for. */
  objects: readonly string[];
}

/** Reads of operators' running operations, by root field. */
const readsOf = new WeakMap<object, Map<string | number, FieldReads>>();

export function auditReads(schema: GraphQLSchema): void {
  for (const type of Object.values(schema.getTypeMap())) {
    const owners = ownersOf(type);
    if (owners === undefined || !isObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) meetBefore(field, owners);
  }
  for (const field of Object.values(schema.getQueryType()?.getFields() ?? {})) beginBefore(field);
  for (const field of Object.values(schema.getSubscriptionType()?.getFields() ?? {})) {
    if (ownersOf(getNamedType(field.type)) !== undefined) writeWhenSubscribed(field);
  }
}

/** Begins the reads of an operator's query. A subscription's field writes its own entry. */
export function beginReads(context: ReadContext): void {
  if (isOperator(context.caller)) readsOf.set(context, new Map());
}

/**
 * Writes the entries. @returns null when there are none
 * @throws DomainError OVERLOADED when they can't be written: the answer must not be sent
 */
export function writeReads(context: ReadContext, { data }: ExecutionResult): Promise<void> | null {
  const reads = readsOf.get(context);
  return reads === undefined || data == null ? null : writeFieldReads(reads, data);
}

async function writeFieldReads(
  reads: ReadonlyMap<string | number, FieldReads>,
  data: Record<string, unknown>,
): Promise<void> {
  const written = [...reads]
    .filter(([key, { named, owners }]) => owners.size > 0 || (named.length > 0 && data[key] != null))
    .flatMap(([, { write, owners, named, objects }]) =>
      chunksOf([...new Set([...owners, ...named, ...objects])], MAX_TARGETS).map(write),
    );
  if ((await Promise.all(written)).includes(false)) throw auditUnavailable();
}

function beginBefore(field: GraphQLField<unknown, ReadContext>): void {
  const isAboutOthers = leadsToOwned(field);
  const resolve = (field.resolve ?? defaultFieldResolver) as Resolver;
  field.resolve = (parent, args, context, info) => {
    const reads = readsOf.get(context);
    if (reads !== undefined && !reads.has(info.path.key)) {
      const named = isAboutOthers
        ? namedBy(args, OWNERS).filter((owner) => !isOf(context.caller, owner))
        : [];
      const objects = namedBy(args, OBJECTS);
      const write = openRead(context, info.fieldName);
      reads.set(info.path.key, { write, owners: new Set(), named, objects });
    }
    return resolve(parent, args, context, info);
  };
}

/** Notes an object's owners before any of its fields is resolved. */
function meetBefore(
  field: GraphQLField<unknown, ReadContext>,
  ownersOfValue: (value: unknown) => readonly (string | null)[],
): void {
  const resolve = (field.resolve ?? defaultFieldResolver) as Resolver;
  field.resolve = (parent, args, context, info) => {
    const reads = readsOf.get(context);
    if (reads !== undefined) {
      const { owners } = reads.get(rootKeyOf(info.path)) ?? {};
      for (const owner of ownersOfValue(parent)) {
        if (owner !== null && !isOf(context.caller, owner)) owners?.add(owner);
      }
    }
    return resolve(parent, args, context, info);
  };
}

/** One entry is enough, because all events show the same object. */
function writeWhenSubscribed(field: GraphQLField<unknown, ReadContext>): void {
  const { subscribe } = field;
  if (subscribe === undefined) return;
  field.subscribe = async (root, args: Record<string, unknown>, context, info) => {
    const source: unknown = await subscribe(root, args, context, info);
    if (!isOperator(context.caller)) return source;
    if (await openRead(context, info.fieldName)(namedBy(args, OBJECTS))) return source;
    await (source as AsyncIterator<unknown>).return?.();
    throw auditUnavailable();
  };
}

function openRead({ audit, caller, requestId, remoteAddress }: ReadContext, field: string): WriteRead {
  return audit.openRead({ requestId, caller, remoteAddress, field });
}

function isOf(caller: Caller | null, owner: string): boolean {
  if (caller === null) return false;
  return (
    caller.subject === owner || (caller.roles.includes('warehouse') && caller.warehouseIds.includes(owner))
  );
}

function rootKeyOf(path: Path): string | number {
  let root = path;
  while (root.prev !== undefined) root = root.prev;
  return root.key;
}

/** Whether the field's type, or that of its page's nodes, has owners. */
function leadsToOwned({ type }: GraphQLField<unknown, ReadContext>): boolean {
  const named = getNamedType(type);
  if (!isObjectType(named)) return false;
  const { nodes } = named.getFields();
  return ownersOf(nodes === undefined ? named : getNamedType(nodes.type)) !== undefined;
}

/** Ids as the audit log and the tables use them. An input may already be decoded into an object with `id`. */
function namedBy(args: Readonly<Record<string, unknown>>, names: ReadonlySet<string>): string[] {
  const filter = args['filter'];
  const given = { ...(typeof filter === 'object' ? filter : null), ...args };
  return Object.entries(given)
    .filter(([name]) => names.has(name))
    .flatMap(([, value]): unknown[] => (Array.isArray(value) ? value : [value]))
    .map((value) => (typeof value === 'object' && value !== null ? Reflect.get(value, 'id') : value))
    .filter((value) => typeof value === 'string')
    .map(localId)
    .filter(isSafeTarget);
}
