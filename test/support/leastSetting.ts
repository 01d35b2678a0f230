/**
 * The least value that a setting accepts: the product must work with it.
 */
import * as z from 'zod';
import { SETTINGS } from '../../src/config/settings.ts';

export function leastSetting(name: 'MAX_OPERATION_COST' | 'MAX_OPERATION_DEPTH'): number {
  const { minimum } = z.toJSONSchema(SETTINGS[name].schema, { io: 'output', unrepresentable: 'any' });
  if (minimum === undefined) throw new Error(`${name} has no least value`);
  return minimum;
}
