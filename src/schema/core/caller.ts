/**
 * The caller of a field whose scopes have admitted it.
 */
import type { Caller, Role } from '../../identity/roles.ts';

export function requireCaller(caller: Caller | null): Caller {
  if (caller !== null) return caller;
  throw new Error('a field that needs a caller was reached without one: its scopes are wrong');
}

export function subjectOf(caller: Caller | null): string {
  return requireCaller(caller).subject;
}

export function isAdmin(caller: Caller | null): boolean {
  return caller !== null && caller.roles.includes('admin');
}

export function isOperator(caller: Caller | null): boolean {
  return caller !== null && caller.roles.some((role) => role === 'operator' || role === 'admin');
}

/** The caller, for use cases in which operators may act for others. */
export function actorOf(caller: Caller | null): { subject: string; isOperator: boolean } {
  return { subject: subjectOf(caller), isOperator: isOperator(caller) };
}

/** Whether the caller acts as this buyer, farmer, …. */
export function actsAs(caller: Caller | null, role: Role, subject: string | null): boolean {
  return caller !== null && caller.roles.includes(role) && caller.subject === subject;
}

/** Operators see all; buyers only themselves. */
export function maySeeBuyer(caller: Caller | null, buyerId: string): boolean {
  return isOperator(caller) || actsAs(caller, 'buyer', buyerId);
}

/** Operators see all; warehouses their own. */
export function maySeeWarehouse(caller: Caller | null, warehouseId: string): boolean {
  return (
    isOperator(caller) ||
    (caller !== null && caller.roles.includes('warehouse') && caller.warehouseIds.includes(warehouseId))
  );
}

/** Operators see all; farmers only themselves. */
export function maySeeFarmer(caller: Caller | null, farmerId: string | null): boolean {
  return isOperator(caller) || actsAs(caller, 'farmer', farmerId);
}
