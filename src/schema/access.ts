/**
 * Who may use a field, said twice from one source: to the scope-auth plugin and to whoever reads the schema.
 *
 *   purchases: t.field({ ...forRoles(['operator'], 'Every purchase.'), type: …, resolve: … })
 */
import type { Role } from '../identity/roles.ts';

interface Open {
  description: string;
  authScopes: { public: true };
}

interface Restricted {
  description: string;
  authScopes: { role: readonly Role[] };
}

export function forEverybody(description: string): Open {
  return { description: `${description}\n\nFor everybody, without a token.`, authScopes: { public: true } };
}

export function forRoles(roles: readonly Role[], description: string): Restricted {
  return {
    description: `${description}\n\nFor tokens with role ${roles.join(' or ')}${roles.includes('admin') ? '' : ' (or admin)'}.`,
    authScopes: { role: roles },
  };
}

/** For fields whose arguments say which buyer they are about. */
export function forBuyerOrOperator<Args>(buyerIdOf: (args: Args) => string, description: string) {
  return {
    description:
      `${description}\n\nFor the buyer, that is a token with role buyer whose subject is the buyerId, ` +
      'or role operator (or admin).',
    authScopes: (_parent: unknown, args: Args) => ({
      $any: { role: ['operator'] as const, buyer: buyerIdOf(args) },
    }),
  };
}

/** For fields whose arguments say which warehouse they are about. */
export function forWarehouseOrOperator<Args>(warehouseIdOf: (args: Args) => string, description: string) {
  return {
    description:
      `${description}\n\nFor tokens with role warehouse whose warehouseIds have the warehouseId (a token's own subject, ` +
      'unless it names others), or role operator (or admin).',
    authScopes: (_parent: unknown, args: Args) => ({
      $any: { role: ['operator'] as const, warehouse: warehouseIdOf(args) },
    }),
  };
}
