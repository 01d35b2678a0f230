/**
 * ErrorCode: the closed set of codes in `extensions.code`, so that clients generate it as a type.
 */
import { ERROR_CODES, type ErrorCode } from '../../lib/errors.ts';
import { builder } from './builder.ts';

export const ErrorCodeEnum = builder.enumType('ErrorCode', {
  description:
    'The possible values of `extensions.code` of an error. Clients branch on the code; messages are for people.',
  values: Object.fromEntries(
    Object.entries(ERROR_CODES).map(([code, description]) => [code, { value: code, description }]),
  ) as Record<ErrorCode, { value: ErrorCode; description: string }>,
});
