/**
 * SerialRange: the serial numbers of the tonnes of a retirement.
 */
import type { Needs } from '../../resolvers/core/dependencies.ts';
import type { Retirement } from '../../resolvers/carbon/findRetirement.ts';
import { readSerialNumbers, type SerialNumbers } from '../../resolvers/carbon/serialNumbers.ts';
import { createBatch } from '../core/batch.ts';
import { builder } from '../core/builder.ts';
import type { Context } from '../core/context.ts';

export const SerialRangeRef = builder.objectRef<SerialNumbers>('SerialRange').implement({
  description:
    'The serial numbers of retired tonnes, such as `VCS-1-2024-000041`: the asset id and a number for each ' +
    "tonne, counted from 1 in the order in which the platform's books retired the tonnes.",
  fields: (t) => ({
    first: t.exposeString('first', { description: 'The serial number of the first tonne.' }),
    last: t.exposeString('last', {
      description: 'The serial number of the last tonne, which is included in the range.',
    }),
  }),
});

const batch = createBatch(async (deps: Needs<'db'>, asked: readonly Retirement[]) => {
  const byId = await readSerialNumbers(deps, asked);
  return new Map(asked.map((retirement) => [retirement, byId.get(retirement.id) ?? null]));
});

/** Null until the retirement is RETIRED. */
export async function serialNumbersOf(
  retirement: Retirement,
  _args: object,
  context: Context,
): Promise<SerialNumbers | null> {
  return (await batch(context, retirement)) ?? null;
}
