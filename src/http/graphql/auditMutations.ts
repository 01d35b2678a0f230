/**
 * Wraps every field of Mutation in an entry of the audit log. The wrapper is outside of all other rules, so that new
 * mutations and refused ones are covered too.
 */
import type { GraphQLFieldResolver, GraphQLSchema } from 'graphql';
import { defaultFieldResolver } from 'graphql';
import { notWritten, type AuditLog } from '../../identity/auditLog.ts';
import { refusedByDatabase } from '../../db/refusedByDatabase.ts';
import { DomainError } from '../../lib/errors.ts';
import type { Context } from '../../schema/core/context.ts';
import { readGlobalId } from '../../schema/core/globalIds.ts';
import { recordedInputOf } from '../../schema/core/recordedInput.ts';
import { codeOf } from './errors.ts';

/** Ids and addresses; nothing that could hide or imitate something where the trail is read. */
const SUBJECT = /^[\x21-\x7e]{1,128}$/;
const MAX_SUBJECTS = 16;

type Resolver = GraphQLFieldResolver<unknown, Context<unknown>, Record<string, unknown>>;

const audited = new WeakSet<GraphQLSchema>();

/** Idempotent: a wrapped schema is returned as it is. */
export function auditMutations(schema: GraphQLSchema): void {
  if (audited.has(schema)) return;
  audited.add(schema);
  for (const field of Object.values(schema.getMutationType()?.getFields() ?? {})) {
    const { subjects = [], isEntryWithEffect = false } = recordedInputOf(field);
    const resolve = (field.resolve ?? defaultFieldResolver) as Resolver;
    field.resolve = withEntry(resolve, new Set(subjects), isEntryWithEffect);
  }
}

function withEntry(
  resolve: Resolver,
  subjectNames: ReadonlySet<string>,
  isEntryWithEffect: boolean,
): Resolver {
  return async (parent, args, context, info) => {
    const { requestId, caller, remoteAddress } = context;
    const about = { requestId, caller, remoteAddress, field: info.fieldName };
    const entry = context.audit.open({ ...about, subjectIds: subjectsOfInput(args, subjectNames) });
    if (isEntryWithEffect) context.entry = entry;
    else await entry.begin();
    let result: unknown;
    try {
      result = await resolve(parent, args, context, info);
    } catch (error) {
      const isKept = await entry.end({ outcome: codeOf(error), subjectIds: [] });
      throw isKept || mayHaveChanged(error) ? error : notWritten(error);
    }
    // Without an effect of its own it repeated an earlier answer, and can do so again.
    const outcome = isDryRun(args) ? 'DRY_RUN' : 'OK';
    if (!(await entry.end({ outcome, subjectIds: subjectsOfAnswer(result) }))) throw notWritten();
    return result;
  };
}

/** What was refused, by a rule or by the database, changed nothing. */
function mayHaveChanged(error: unknown): boolean {
  return !(error instanceof DomainError) && refusedByDatabase(error) === null;
}

/** For mutations whose variables are invalid, so that none of their fields runs. */
export async function recordUnstarted(
  audit: AuditLog,
  about: Pick<Context<unknown>, 'requestId' | 'caller' | 'remoteAddress'>,
  fields: readonly string[],
  outcome: string,
): Promise<void> {
  const { requestId, caller, remoteAddress } = about;
  await Promise.all(
    fields.map(async (field) => {
      const entry = audit.open({ requestId, caller, remoteAddress, field, subjectIds: [] });
      if (!(await entry.end({ outcome, subjectIds: [] }))) throw notWritten();
    }),
  );
}

function inputOf(args: Record<string, unknown>): Readonly<Record<string, unknown>> {
  const { input } = args;
  return typeof input === 'object' && input !== null ? { ...input } : {};
}

/** One that succeeded changed nothing, and the trail must not look as if it had. */
function isDryRun(args: Record<string, unknown>): boolean {
  return inputOf(args)['dryRun'] === true;
}

function subjectsOfInput(args: Record<string, unknown>, subjectNames: ReadonlySet<string>): string[] {
  return subjects(
    Object.entries({ ...args, ...inputOf(args) })
      .filter(([name]) => subjectNames.has(name))
      .map(([, value]) => (typeof value === 'string' ? localId(value) : undefined)),
  );
}

/** The answer itself, or the objects in it. */
function subjectsOfAnswer(answer: unknown): string[] {
  if (typeof answer !== 'object' || answer === null) return [];
  const parts: unknown[] = [answer, ...Object.values(answer)];
  return subjects(
    parts.map((part) => {
      const id: unknown = typeof part === 'object' && part !== null ? Reflect.get(part, 'id') : undefined;
      return typeof id === 'string' ? id : undefined;
    }),
  );
}

function subjects(found: readonly (string | undefined)[]): string[] {
  const safe = found.filter((id): id is string => id !== undefined && SUBJECT.test(id));
  return [...new Set(safe)].slice(0, MAX_SUBJECTS);
}

/** Global ids as the UUIDs that the audit log and the tables use. */
function localId(value: string): string {
  return readGlobalId(value)?.id ?? value;
}
