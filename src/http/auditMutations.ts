/**
 * Wraps every field of Mutation in an entry of the audit trail: the one place that does, outside of all other
 * rules, so that no mutation can be forgotten and none that was refused is left out.
 */
import type { GraphQLFieldResolver, GraphQLSchema } from 'graphql';
import { defaultFieldResolver } from 'graphql';
import type { AuditTrail } from '../identity/auditTrail.ts';
import type { Context } from '../schema/context.ts';
import { decodeGlobalId } from '../schema/globalIds.ts';
import { codeOf } from './errors.ts';

/** What an input may name that a mutation is about. Nothing else of an input is kept. */
const SUBJECT_FIELDS = new Set([
  'id',
  'buyerId',
  'farmerId',
  'warehouseId',
  'tokenAddress',
  'receiptTokenAddress',
  'holder',
  'sessionId',
  'submissionId',
  'subject',
  'webhookId',
]);
/** Ids and addresses; nothing that could hide or imitate something where the trail is read. */
const SUBJECT = /^[\x21-\x7e]{1,128}$/;
const MAX_SUBJECTS = 16;

type Resolver = GraphQLFieldResolver<unknown, Context<unknown>, Record<string, unknown>>;

const audited = new WeakSet<GraphQLSchema>();

/** Wrapping a wrapped schema again changes nothing. */
export function auditMutations(schema: GraphQLSchema): void {
  if (audited.has(schema)) return;
  audited.add(schema);
  for (const field of Object.values(schema.getMutationType()?.getFields() ?? {})) {
    field.resolve = withEntry((field.resolve ?? defaultFieldResolver) as Resolver);
  }
}

function withEntry(resolve: Resolver): Resolver {
  return async (parent, args, context, info) => {
    const { requestId, caller, remoteAddress } = context;
    const about = { requestId, caller, remoteAddress, field: info.fieldName };
    const end = await context.audit.begin({ ...about, subjectIds: subjectsOfInput(args) });
    try {
      const result: unknown = await resolve(parent, args, context, info);
      end({ outcome: 'OK', subjectIds: subjectsOfAnswer(result) });
      return result;
    } catch (error) {
      end({ outcome: codeOf(error), subjectIds: [] });
      throw error;
    }
  };
}

/** For mutations that end before any of their fields could run: their variables did not fit. */
export async function recordUnstarted(
  audit: AuditTrail,
  about: Pick<Context<unknown>, 'requestId' | 'caller' | 'remoteAddress'>,
  fields: readonly string[],
  outcome: string,
): Promise<void> {
  const { requestId, caller, remoteAddress } = about;
  await Promise.all(
    fields.map(async (field) => {
      const end = await audit.begin({ requestId, caller, remoteAddress, field, subjectIds: [] });
      end({ outcome, subjectIds: [] });
    }),
  );
}

function subjectsOfInput(args: Record<string, unknown>): string[] {
  const input = typeof args['input'] === 'object' && args['input'] !== null ? args['input'] : {};
  return subjects(
    Object.entries({ ...args, ...input })
      .filter(([name]) => SUBJECT_FIELDS.has(name))
      .map(([, value]) => (typeof value === 'string' ? localId(value) : undefined)),
  );
}

/** The answer itself, or what it is made of. */
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

/** Global ids as the trail and the tables have them. */
function localId(value: string): string {
  try {
    return decodeGlobalId(value).id;
  } catch {
    return value;
  }
}
