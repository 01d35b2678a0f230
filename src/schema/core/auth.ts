/**
 * The access scopes of fields, and the errors for callers who lack them.
 */
import { type AuthFailure, AuthScopeFailureType, RequestCache } from '@pothos/plugin-scope-auth';
import { DomainError } from '../../lib/errors.ts';
import type { Caller, Role } from '../../identity/roles.ts';

export interface AuthScopes {
  /**
   * Every caller, with or without a token. Public fields state this scope, so that a forgotten rule is an
   * error.
   */
  public: boolean;
  /** A caller with one of these roles; an admin may do what any role may. */
  role: readonly Role[];
  /** The buyer of this id: role buyer, and the token's subject is the id. */
  buyer: string;
  /** The caller as a buyer. An operator has to give the input of this name. */
  ownBuyer: string;
  /** The warehouse of this id: role warehouse, and the caller's token or key names the id. */
  warehouse: string;
}

/** Decides each scope for one request. */
export function scopesOf(caller: Caller | null) {
  const has = (roles: readonly Role[]) =>
    caller !== null && caller.roles.some((role) => role === 'admin' || roles.includes(role));
  return {
    public: true,
    role: has,
    buyer: (buyerId: string) => has(['buyer']) && caller?.subject === buyerId,
    ownBuyer: () => has(['buyer']),
    warehouse: (warehouseId: string) =>
      has(['warehouse']) && caller?.warehouseIds.includes(warehouseId) === true,
  };
}

/**
 * Forgets the plugin's decisions for a request that has ended. The plugin keeps them in a WeakMap, whose
 * values V8 treats as reachable until its next full collection, so each request's objects would outlive the
 * request until then.
 */
export function forgetScopes(context: object): void {
  RequestCache.clearForContext(context);
}

/** UNAUTHENTICATED without a token, FORBIDDEN with one. Names the required roles and the caller's roles. */
export function unauthorized(caller: Caller | null, fieldName: string, failure: AuthFailure): DomainError {
  const scopes = failedScopes(failure);
  const needed = needs(scopes, caller);
  if (caller === null) {
    return new DomainError('UNAUTHENTICATED', `${fieldName} needs ${needed}; no bearer token was sent.`);
  }
  return new DomainError('FORBIDDEN', `${fieldName} needs ${needed}; this one has ${has(caller, scopes)}.`, {
    // Spelled as in the contract's enum.
    roles: caller.roles.map((role) => role.toUpperCase()),
  });
}

interface FailedScope {
  scope: string;
  parameter: unknown;
}

function failedScopes(failure: AuthFailure): FailedScope[] {
  if ('failures' in failure) return failure.failures.flatMap(failedScopes);
  if (failure.kind !== AuthScopeFailureType.AuthScope) return [];
  return [{ scope: failure.scope, parameter: failure.parameter }];
}

/** "a token with role x or y" */
function needs(scopes: readonly FailedScope[], caller: Caller | null): string {
  const roles = [...new Set(scopes.flatMap((scope) => neededRoles(scope, caller)))];
  return `a token with role ${roles.join(' or ')}`;
}

function neededRoles({ scope, parameter }: FailedScope, caller: Caller | null): string[] {
  if (scope === 'role') return [...(parameter as readonly string[])];
  // Without a token, the scope of the caller's own list has an empty subject.
  if (scope === 'buyer') {
    return [
      caller === null && parameter === '' ? 'buyer' : `buyer and subject ${visible(String(parameter))}`,
    ];
  }
  if (scope === 'ownBuyer') return [`buyer (an operator has to give ${String(parameter)})`];
  return scope === 'warehouse' ? [`warehouse and warehouseId ${visible(String(parameter))}`] : [];
}

/** In quotes where a reader could not see the id. */
const visible = (id: string) => (id.trim() === '' ? `"${id}"` : id);

/** The caller's roles, with its subject or warehouses if a scope depends on them. */
function has(caller: Caller, scopes: readonly FailedScope[]): string {
  const isAbout = (name: string) => scopes.some(({ scope }) => scope === name);
  return [
    caller.roles.join(', '),
    ...(isAbout('buyer') ? [`subject ${caller.subject}`] : []),
    ...(isAbout('warehouse') && caller.roles.includes('warehouse')
      ? [`warehouseId ${caller.warehouseIds.join(', ')}`]
      : []),
  ].join(' and ');
}
