/**
 * Whose data an object is. When an operator reads it, the audit log says of whom (http/graphql/auditReads.ts). Each type with
 * an id says whose it is, or is on the list of those that belong to the platform in the tests of the contract.
 *
 *   builder.node(PurchaseRef, { ...ownedBy<Purchase>(({ buyerId }) => [buyerId]), … })
 */
import type { GraphQLNamedType } from 'graphql';

/** Subjects of tokens, and ids of warehouses; null where there is none. */
type OwnersOf<Value> = (value: Value) => readonly (string | null)[];

const OWNERS = 'owners';

export function ownedBy<Value>(owners: OwnersOf<Value>): { extensions: Record<string, unknown> } {
  return { extensions: { [OWNERS]: owners } };
}

/** Undefined for what belongs to the platform, or to the public. */
export function ownersOf({
  extensions,
}: Pick<GraphQLNamedType, 'extensions'>): OwnersOf<unknown> | undefined {
  return extensions[OWNERS] as OwnersOf<unknown> | undefined;
}
