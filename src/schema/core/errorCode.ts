/**
 * ErrorCode: the closed set of codes in `extensions.code`, so that clients generate it as a type.
 */
import { ERROR_CODES } from '../../lib/errors.ts';
import { enumOf } from './enums.ts';

export const ErrorCodeEnum = enumOf(
  'ErrorCode',
  'The possible values of `extensions.code` of an error. Clients branch on the code; messages are for people.',
  ERROR_CODES,
);
