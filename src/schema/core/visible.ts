/**
 * Finds one object for a caller: `builder.node(PurchaseRef, { loadOne: visible(findPurchase, …), … })`.
 */
import type { Caller } from '../../identity/roles.ts';
import type { Dependencies } from '../../resolvers/core/dependencies.ts';
import type { Context } from './context.ts';

/** The finder returns null when there is no such object, and when the caller may not see it. */
export function visible<Row>(
  find: (dependencies: Dependencies, id: string) => Promise<Row | null>,
  maySee: (caller: Caller | null, row: Row) => boolean,
) {
  return async (id: string, { caller, dependencies }: Context): Promise<Row | null> => {
    const found = await find(dependencies, id);
    return found !== null && maySee(caller, found) ? found : null;
  };
}
