/**
 * The product's own builder: what the files of the contract register their types with.
 */
import type { Dependencies } from '../resolvers/dependencies.ts';
import { createBuilder } from './builder.ts';

export const builder = createBuilder<Dependencies>();

builder.queryType({ description: 'Reading: nothing here changes anything.' });
builder.mutationType({
  description:
    'Writing. What moves value or issues takes an `idempotencyKey`: sending the same again gives the same answer, ' +
    'and nothing happens twice.',
});
builder.subscriptionType({
  description: 'Live updates, over graphql-transport-ws or, on the same address, server-sent events.',
});
