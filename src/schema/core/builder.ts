/**
 * The builder with which every file of the contract registers its types.
 */
import type { Dependencies } from '../../resolvers/core/dependencies.ts';
import { createBuilder } from './createBuilder.ts';

export const builder = createBuilder<Dependencies>();

/** The builder's types, for functions that make fields of several types. */
export type ContractTypes = typeof builder extends PothosSchemaTypes.SchemaBuilder<infer T> ? T : never;

/** Added to the lists of errors in the descriptions of fields; docs/errors.md has the same. */
const EVERY_FIELDS_ERRORS =
  'The description of a field lists the errors of that field. Every field can also return BAD_USER_INPUT when ' +
  'its input breaks a rule, UNAUTHENTICATED, FORBIDDEN, OPERATION_TOO_LARGE, RATE_LIMITED, OVERLOADED or ' +
  'DATABASE_UNAVAILABLE.';

builder.queryType({
  description:
    'Read operations. No query changes state. A query that fails is null and has an entry in `errors`; the ' +
    'other queries of the request still return their data. A query that finds one object is null, without an ' +
    'error, when no such object exists that the caller may see. `node` finds every object that has an `id`, ' +
    `whatever its type. ${EVERY_FIELDS_ERRORS}`,
});
builder.mutationType({
  description:
    'Write operations. A mutation that fails is null. A request whose input has an `idempotencyKey` can be ' +
    'repeated: the same key and input return the same result and have no second effect. With `dryRun: true`, a ' +
    `mutation that accepts it makes every check and changes nothing. ${EVERY_FIELDS_ERRORS}`,
});
builder.subscriptionType({
  description:
    'Live updates over graphql-transport-ws, server-sent events or multipart, at the same URL. `retirementFeed` ' +
    'delivers every event and resumes from a cursor. The other subscriptions deliver the current state of one ' +
    'object and end with that object.',
});
