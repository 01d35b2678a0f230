/**
 * The builder with which every file of the contract registers its types.
 */
import type { Dependencies } from '../../resolvers/core/dependencies.ts';
import { createBuilder } from './createBuilder.ts';

export const builder = createBuilder<Dependencies>();

builder.queryType({
  description:
    'Reads. None of these fields changes state. Each is null when it failed, with its error beside the data, and its neighbours ' +
    'keep their answers. A field that finds one object is null without an error when there is none that the caller may see; ' +
    '`node` finds the same objects by their `id`, of whatever type.',
});
builder.mutationType({
  description:
    'Writes. Each is null when it failed. Those that move or issue value take an `idempotencyKey`: the same request again returns ' +
    'the same result, and takes effect once. Those that move or issue value can be tried with `dryRun`, but for `createProject`, ' +
    '`prepareRetirement`, which makes every check and sends nothing, and `submitSigned`, whose signature is the effect.',
});
builder.subscriptionType({
  description:
    'Live updates over graphql-transport-ws, server-sent events or multipart, at the same URL. `retirementFeed` leaves nothing out ' +
    'and goes on from a cursor; the others give one object as it is now, and end with it.',
});
