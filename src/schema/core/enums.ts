/**
 * Enumerations: `enumOf('RampSessionStatus', 'The status of …', { pending: 'The payout has not started.' })`.
 */
import { builder } from './builder.ts';

/** @param meanings by the program's value; the contract spells createProject as CREATE_PROJECT */
export function enumOf<Value extends string>(
  name: string,
  description: string,
  meanings: Readonly<Record<Value, string>>,
) {
  const values = Object.entries<string>(meanings).map(([value, meaning]) => {
    const spelled = value.replaceAll(/(?<=[a-z])(?=[A-Z])|-/g, '_').toUpperCase();
    return [spelled, { value, description: meaning }];
  });
  return builder.enumType(name, {
    description,
    values: Object.fromEntries(values) as Record<string, { value: Value; description: string }>,
  });
}
