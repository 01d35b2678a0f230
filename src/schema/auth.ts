/**
 * Who may use a field: the scopes that stand beside each field, and what those get who lack them.
 */
import type { AuthFailure } from '@pothos/plugin-scope-auth';
import { AuthScopeFailureType } from '@pothos/plugin-scope-auth';
import { DomainError } from '../errors.ts';
import type { Caller, Role } from '../identity/roles.ts';

export interface AuthScopes {
  /** Everybody, with or without a token. Declared, so that a forgotten rule shows. */
  public: boolean;
  /** Anybody with a valid token. */
  authenticated: boolean;
  /** A caller with one of these roles; an admin may do what any role may. */
  role: readonly Role[];
  /** The buyer of this id: role buyer, and the token's subject is the id. */
  buyer: string;
  /** The warehouse of this id: role warehouse, and the id is one of the caller's. */
  warehouse: string;
}

/** Decides each scope for one request. */
export function scopesOf(caller: Caller | null) {
  const has = (roles: readonly Role[]) =>
    caller !== null && caller.roles.some((role) => role === 'admin' || roles.includes(role));
  return {
    public: true,
    authenticated: caller !== null,
    role: has,
    buyer: (buyerId: string) => has(['buyer']) && caller?.subject === buyerId,
    warehouse: (warehouseId: string) =>
      has(['warehouse']) && caller?.warehouseIds.includes(warehouseId) === true,
  };
}

/** UNAUTHENTICATED without a token, FORBIDDEN with one, saying what would be needed. */
export function unauthorized(caller: Caller | null, fieldName: string, failure: AuthFailure): DomainError {
  const needed = needs(failure);
  if (caller === null) {
    return new DomainError('UNAUTHENTICATED', `${fieldName} needs ${needed}; no bearer token was sent.`);
  }
  return new DomainError(
    'FORBIDDEN',
    `${fieldName} needs ${needed}; this one has ${caller.roles.join(', ')}.`,
    {
      roles: caller.roles,
    },
  );
}

/** "a token with role x or y", from the tree of scopes that failed. */
function needs(failure: AuthFailure): string {
  const roles = [...new Set(neededRoles(failure))];
  return roles.length === 0 ? 'a token' : `a token with role ${roles.join(' or ')}`;
}

function neededRoles(failure: AuthFailure): string[] {
  if ('failures' in failure) return failure.failures.flatMap(neededRoles);
  if (failure.kind !== AuthScopeFailureType.AuthScope) return [];
  if (failure.scope === 'role') return [...(failure.parameter as readonly string[])];
  if (failure.scope === 'buyer') return [`buyer and subject ${String(failure.parameter)}`];
  return failure.scope === 'warehouse' ? [`warehouse and warehouseId ${String(failure.parameter)}`] : [];
}
