/**
 * Wraps every field of Mutation in an entry of the audit log. The wrapper is outside of all other rules, so
 * that new mutations and refused ones are covered too.
 */
import { defaultFieldResolver, type GraphQLFieldResolver, type GraphQLSchema } from 'graphql';
import { auditUnavailable } from '../../identity/auditLog.ts';
import { outcomeUnknown } from './databaseUnavailable.ts';
import { refusedByDatabase } from '../../db/refusedByDatabase.ts';
import { DomainError } from '../../lib/errors.ts';
import { isObject } from '../../lib/parseJson.ts';
import { yieldToEventLoop } from '../../lib/yieldToEventLoop.ts';
import type { Context } from '../../schema/core/context.ts';
import { localId } from '../../schema/core/globalIds.ts';
import { recordedInputOf } from '../../schema/core/recordedInput.ts';
import { isSafeTarget } from './auditTargets.ts';
import { codeOf } from './errors.ts';

const MAX_TARGETS = 16;

type Resolver = GraphQLFieldResolver<unknown, Context<unknown>, Record<string, unknown>>;

export function auditMutations(schema: GraphQLSchema): void {
  for (const field of Object.values(schema.getMutationType()?.getFields() ?? {})) {
    const { targets = [] } = recordedInputOf(field);
    const resolve = (field.resolve ?? defaultFieldResolver) as Resolver;
    field.resolve = withEntry(resolve, new Set(targets));
  }
}

function withEntry(resolve: Resolver, targetNames: ReadonlySet<string>): Resolver {
  return async (parent, args, context, info) => {
    // A document has room for many mutations, and errors take longer to make than most answers.
    const pause = yieldToEventLoop();
    if (pause !== null) await pause;
    const { requestId, caller, remoteAddress } = context;
    const targetIds = targetsOfInput(args, targetNames);
    const about = { requestId, caller, remoteAddress, field: info.fieldName, targetIds };
    const entry = context.audit.open(about);
    const audited = { entry, isAdmitted: false };
    context.audited = audited;
    let result: unknown;
    try {
      result = await resolve(parent, args, context, info);
    } catch (error) {
      if (!audited.isAdmitted && hasNoRight(error)) {
        context.audit.countRefused(about, codeOf(error));
        throw error;
      }
      const isKept = await entry.end({ outcome: codeOf(error), targetIds: [] });
      if (!isKept && !mayHaveChanged(error)) throw auditUnavailable(error);
      throw (audited.isAdmitted && outcomeUnknown(error)) || error;
    }
    // If the entry can't be written, the mutation had no effect of its own: it repeated an earlier answer,
    // and can do so again.
    const outcome = isDryRun(args) ? 'DRY_RUN' : 'OK';
    const added = targetsOfAnswer(result).filter((id) => !targetIds.includes(id));
    if (!(await entry.end({ outcome, targetIds: added }))) throw auditUnavailable();
    return result;
  };
}

function hasNoRight(error: unknown): boolean {
  return ['UNAUTHENTICATED', 'FORBIDDEN'].includes(codeOf(error));
}

/** A mutation that a rule or the database refused changed nothing. */
function mayHaveChanged(error: unknown): boolean {
  return !(error instanceof DomainError) && refusedByDatabase(error) === null;
}

/** A dry run that succeeded changed nothing, and the audit log must not look as if it had. */
function isDryRun({ input }: Record<string, unknown>): boolean {
  return isObject(input) && input['dryRun'] === true;
}

/** Ids as the audit log and the tables use them. */
function targetsOfInput(args: Record<string, unknown>, targetNames: ReadonlySet<string>): string[] {
  const input = isObject(args['input']) ? args['input'] : {};
  const found: string[] = [];
  for (const name of targetNames) {
    const value = input[name] ?? args[name];
    if (typeof value === 'string') found.push(localId(value));
  }
  return safeTargets(found);
}

/** Ids of the answer itself and of the objects in it. */
function targetsOfAnswer(answer: unknown): string[] {
  if (typeof answer !== 'object' || answer === null) return [];
  const found: string[] = [];
  for (const part of [answer, ...(Object.values(answer) as unknown[])]) {
    const id: unknown = typeof part === 'object' && part !== null ? Reflect.get(part, 'id') : undefined;
    if (typeof id === 'string') found.push(id);
  }
  return safeTargets(found);
}

function safeTargets(found: readonly string[]): string[] {
  const safe = found.filter(isSafeTarget);
  return safe.length < 2 ? safe : [...new Set(safe)].slice(0, MAX_TARGETS);
}
