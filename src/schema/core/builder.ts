/**
 * The builder with which every file of the contract registers its types.
 */
import type { Dependencies } from '../../resolvers/core/dependencies.ts';
import { createBuilder } from './createBuilder.ts';

export const builder = createBuilder<Dependencies>();

builder.queryType({ description: 'Reads. None of these fields changes state.' });
builder.mutationType({
  description:
    'Writes. Mutations that move or issue value take an `idempotencyKey`: the same request again returns the same result, ' +
    'and takes effect once.',
});
builder.subscriptionType({
  description: 'Live updates over graphql-transport-ws or server-sent events, at the same URL.',
});
