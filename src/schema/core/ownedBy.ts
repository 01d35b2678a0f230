/**
 * The owners of an object's data. When an operator reads the object, the audit log names the owners
 * (http/graphql/auditReads.ts). Each type with an id declares its owners, or is on the list of the platform's
 * types in the tests of the contract.
 *
 *   builder.node(PurchaseRef, { ...ownedBy<Purchase>(({ buyerId }) => [buyerId]), … })
 */
import type { GraphQLNamedType } from 'graphql';

/** Subjects of tokens, and ids of warehouses; null for no owner. */
type OwnersOf<Value> = (value: Value) => readonly (string | null)[];

const OWNERS = 'owners';

export function ownedBy<Value>(owners: OwnersOf<Value>): { extensions: Record<string, unknown> } {
  return { extensions: { [OWNERS]: owners } };
}

/** Undefined for a type that belongs to the platform or to the public. */
export function ownersOf({
  extensions,
}: Pick<GraphQLNamedType, 'extensions'>): OwnersOf<unknown> | undefined {
  return extensions[OWNERS] as OwnersOf<unknown> | undefined;
}
