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
  'A description lists the errors of its own field; any field can also be answered with BAD_USER_INPUT where its input breaks a rule, ' +
  'UNAUTHENTICATED, FORBIDDEN, OPERATION_TOO_LARGE, RATE_LIMITED, OVERLOADED or DATABASE_UNAVAILABLE.';

builder.queryType({
  description:
    'Reads. None of these fields changes state. Each is null when it failed, with its error beside the data, and its neighbours ' +
    'keep their answers. A field that finds one object is null without an error when there is none that the caller may see; ' +
    `\`node\` finds the same objects by their \`id\`, of whatever type. ${EVERY_FIELDS_ERRORS}`,
});
builder.mutationType({
  description:
    'Writes. Each is null when it failed. Those that move or issue value take an `idempotencyKey`: the same request again returns ' +
    'the same result, and takes effect once. Those that move or issue value can be tried with `dryRun`, but for `createProject`, ' +
    '`prepareRetirement`, which makes every check and sends nothing, and `submitSigned`, whose signature is the effect. ' +
    EVERY_FIELDS_ERRORS,
});
builder.subscriptionType({
  description:
    'Live updates over graphql-transport-ws, server-sent events or multipart, at the same URL. `retirementFeed` leaves nothing out ' +
    'and goes on from a cursor; the others give one object as it is now, and end with it.',
});
