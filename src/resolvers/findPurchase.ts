/**
 * Finding a purchase by its id.
 */
import { eq } from 'drizzle-orm';
import { purchases } from '../db/schema/index.ts';
import type { Dependencies } from './dependencies.ts';
import type { Purchase } from './purchase.ts';

export async function findPurchase(deps: Pick<Dependencies, 'db'>, id: string): Promise<Purchase | null> {
  const [purchase] = await deps.db.select().from(purchases).where(eq(purchases.id, id));
  return purchase ?? null;
}
