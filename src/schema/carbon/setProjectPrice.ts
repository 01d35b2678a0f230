/**
 * setProjectPrice: sets the price of a project's tonne from now on.
 */
import { setProjectPrice } from '../../resolvers/carbon/setProjectPrice.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { IDEMPOTENCY_KEY, inputOf, payloadOf } from '../core/inputs.ts';
import { actorOf } from '../core/caller.ts';
import { MoneyInput } from '../core/money.ts';
import { ProjectRef } from './project.ts';

/** The limits of every price in an input. */
export const PRICE_LIMITS = 'More than 0, with at most 16 digits before the point and 8 after it.';

const SetProjectPriceInput = builder.inputType('SetProjectPriceInput', {
  description: "The new price of a project's tonne.",
  fields: (t) => ({
    projectId: t.globalID({ for: ProjectRef, required: true, description: 'The `id` of the project.' }),
    pricePerTonne: t.field({
      type: MoneyInput,
      required: true,
      description: `The price of a tonne CO2e. ${PRICE_LIMITS}`,
    }),
    idempotencyKey: t.string(IDEMPOTENCY_KEY),
  }),
});

builder.mutationField('setProjectPrice', (t) =>
  t.field({
    ...forRoles(
      ['developer', 'operator'],
      'Sets the price of a tonne of a project from now on. Earlier purchases keep their price. Payment is agreed ' +
        'and made outside this platform. Errors: NOT_FOUND, FORBIDDEN (another developer), IDEMPOTENCY_CONFLICT.',
    ),
    type: payloadOf('SetProjectPricePayload', 'The project, with the price in force.', {
      project: { type: ProjectRef, description: 'The project.' },
    }),
    args: inputOf(SetProjectPriceInput, 'The project and its new price.'),
    recordedInput: { targets: ['projectId'], shown: ['pricePerTonne', 'idempotencyKey'] },
    resolve: (_root, { input }, { caller, dependencies }) =>
      setProjectPrice(dependencies, actorOf(caller), { ...input, projectId: input.projectId.id }),
  }),
);
