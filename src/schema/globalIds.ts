/**
 * Opaque global ids: base64url of `Type:id`, so that they can be put in an address unescaped.
 */
import { DomainError } from '../errors.ts';
import { showValue } from './showValue.ts';

const GLOBAL_ID = /^([A-Za-z]+):(.+)$/s;

export function encodeGlobalId(typename: string, id: string | number | bigint): string {
  return Buffer.from(`${typename}:${id}`).toString('base64url');
}

/** @throws DomainError BAD_USER_INPUT when the text was not made by `encodeGlobalId` */
export function decodeGlobalId(globalId: string): { typename: string; id: string } {
  const decoded = Buffer.from(globalId, 'base64url').toString();
  const [, typename, id] = GLOBAL_ID.exec(decoded) ?? [];
  if (typename === undefined || id === undefined || encodeGlobalId(typename, id) !== globalId) {
    throw new DomainError(
      'BAD_USER_INPUT',
      `${showValue(globalId)} is not an id that this server gave out.`,
      {
        field: 'id',
      },
    );
  }
  return { typename, id };
}
