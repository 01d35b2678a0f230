/**
 * Opaque global ids: base64url of `Type:id`, so that they can be put in an address unescaped.
 */
import { DomainError } from '../errors.ts';
import { showValue } from './showValue.ts';

/** The types that have an id of their own, all of them UUIDs. */
export const NODE_TYPES = [
  'ApiKey',
  'CashOutSession',
  'ExpiryRun',
  'HolderAct',
  'Project',
  'Purchase',
  'Receipt',
  'Retirement',
  'Submission',
] as const;

const GLOBAL_ID = new RegExp(`^(${NODE_TYPES.join('|')}):([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$`);

export function encodeGlobalId(typename: string, id: string | number | bigint): string {
  return Buffer.from(`${typename}:${id}`).toString('base64url');
}

/** @throws DomainError BAD_USER_INPUT when the text was not made by `encodeGlobalId` */
export function decodeGlobalId(globalId: string): { typename: string; id: string } {
  const [, typename, id] = GLOBAL_ID.exec(Buffer.from(globalId, 'base64url').toString()) ?? [];
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
