/**
 * Access rules of fields, each stated once: as scopes for the scope-auth plugin and as text in the field's
 * description. A field with a rule is nullable, so that its refusal or failure leaves the operation's other
 * fields their data. Only a subscription is not: it ends with its field.
 *
 *   purchases: t.field({ ...forRoles(['operator'], 'Every purchase.'), type: …, resolve: … })
 */
import type { Role } from '../../identity/roles.ts';

export function forPublic(description: string) {
  return {
    description: `${description}\n\nPublic: needs no token.`,
    authScopes: { public: true },
    nullable: true,
  } as const;
}

export function forRoles(roles: readonly Role[], description: string) {
  return {
    description: `${description}\n\nNeeds a token with role ${roles.join(' or ')}${roles.includes('admin') ? '' : ' (or admin)'}.`,
    authScopes: { role: roles },
    nullable: true,
  } as const;
}

/** The description of every `buyerId` that may be left out. */
export const OWN_BUYER_ID =
  "The buyer: the subject of the buyer's token. Defaults to the caller, who then needs role buyer.";

/** For fields whose arguments name a buyer. Without a name, the caller is the buyer. */
export function forBuyerOrOperator<Args>(
  buyerIdOf: (args: Args) => string | null | undefined,
  description: string,
  buyerIdName = 'buyerId',
) {
  return {
    description:
      `${description}\n\nNeeds a token with role buyer whose subject equals the ${buyerIdName}, ` +
      'or with role operator (or admin).',
    authScopes: (_parent: unknown, args: Args) => {
      const buyerId = buyerIdOf(args);
      // Without a buyerId, an operator would act for an account in the operator's name, which no buyer has.
      if (buyerId == null) return { ownBuyer: buyerIdName };
      return { $any: { role: ['operator'] as const, buyer: buyerId } };
    },
    nullable: true as const,
  };
}

/** For a mutation whose input names a warehouse. */
export function forWarehouseOrOperator(description: string) {
  return {
    description:
      `${description}\n\nNeeds a token with role warehouse whose warehouseIds have the warehouseId (a token's own subject, ` +
      'unless it names others), or with role operator (or admin).',
    authScopes: (_parent: unknown, { input }: { input: { warehouseId: string } }) => ({
      $any: { role: ['operator'] as const, warehouse: input.warehouseId },
    }),
    nullable: true as const,
  };
}
