/**
 * The Pothos builder for every type of the contract: plugins, scalars and their rules.
 *
 * The order of the plugins matters: the first is the outermost, so a caller who may not use a field learns
 * that before its input is checked.
 */
import SchemaBuilder from '@pothos/core';
import RelayPlugin from '@pothos/plugin-relay';
import ScopeAuthPlugin from '@pothos/plugin-scope-auth';
import ZodPlugin from '@pothos/plugin-zod';
import { MAX_COUNTED } from '../../lib/pageSizes.ts';
import { DomainError } from '../../lib/errors.ts';
import { withoutStack } from '../../lib/withoutStack.ts';
import { type AuthScopes, scopesOf, unauthorized } from './auth.ts';
import { badUserInput } from './badInput.ts';
import type { Context } from './context.ts';
import globalIdInputs from './globalIdInputs.ts';
import { encodeGlobalId, readGlobalId } from './globalIds.ts';
import recordedInput from './recordedInput.ts';
import { relayDescriptions } from './relayDescriptions.ts';
import { scalars, type ScalarTypes } from './scalars.ts';
import { showValue } from './showValue.ts';

/** Creates a builder with the scalars registered and no fields yet. */
export function createBuilder<Dependencies>() {
  const builder = new SchemaBuilder<{
    Context: Context<Dependencies>;
    AuthScopes: AuthScopes;
    Scalars: ScalarTypes;
    Connection: { count: () => Promise<number> };
    DefaultFieldNullability: false;
    DefaultAuthStrategy: 'all';
    DefaultEdgesNullability: false;
    DefaultNodeNullability: false;
  }>({
    plugins: [ScopeAuthPlugin, ZodPlugin, RelayPlugin, globalIdInputs, recordedInput],
    defaultFieldNullability: false,
    scopeAuth: {
      // A subscription is checked once, at its start: the socket ends with the token that opened it.
      authorizeOnSubscribe: true,
      defaultStrategy: 'all',
      authScopes: (context) => scopesOf(context.caller),
      unauthorizedError: (_parent, context, info, result) =>
        withoutStack(() => unauthorized(context.caller, info.fieldName, result.failure)),
    },
    zod: { validationError: (error, args) => badUserInput(error, args) },
    relay: { ...relayDescriptions, encodeGlobalID: encodeGlobalId, decodeGlobalID: checkedGlobalId },
  });
  for (const name of Object.keys(scalars) as (keyof typeof scalars)[]) {
    builder.scalarType(name, scalars[name]);
  }
  builder.globalConnectionField('totalCount', (t) =>
    t.int({
      description:
        'The number of items on all pages that match the filter and that the caller may see, regardless of `after` ' +
        `and \`before\`. Counted only when selected, up to ${MAX_COUNTED}; ${MAX_COUNTED} means "${MAX_COUNTED} or ` +
        'more".',
      resolve: ({ count }) => count(),
    }),
  );
  return builder;
}

/**
 * Checks ids that `globalIdInputs` does not; that plugin also names the path of a wrong id.
 * @throws DomainError BAD_USER_INPUT
 */
function checkedGlobalId(globalId: string): { typename: string; id: string } {
  const parts = readGlobalId(globalId);
  if (parts !== undefined) return parts;
  throw new DomainError('BAD_USER_INPUT', `${showValue(globalId)} is not an id that this server gave out.`);
}
