/**
 * retirementUpdated: a retirement as it changes.
 */
import {
  FOLLOWED_RETIREMENTS,
  findRetirement,
  type Retirement,
} from '../../resolvers/carbon/findRetirement.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { maySeeBuyer } from '../core/caller.ts';
import { UPDATES_UNTIL_FINAL, updatesOf } from '../core/updates.ts';
import { RetirementRef } from './retirement.ts';

const followed = {
  kind: FOLLOWED_RETIREMENTS,
  find: findRetirement,
  maySee: (caller: Parameters<typeof maySeeBuyer>[0], { buyerId }: Retirement) =>
    maySeeBuyer(caller, buyerId),
  noun: 'retirement',
};

builder.subscriptionField('retirementUpdated', (t) =>
  t.field({
    ...forRoles(
      ['buyer', 'operator'],
      `A retirement. ${UPDATES_UNTIL_FINAL}RETIRED or REFUSED. NOT_FOUND for another buyer's retirement.`,
    ),
    type: RetirementRef,
    args: {
      id: t.arg.globalID({ for: RetirementRef, required: true, description: 'The `id` of the retirement.' }),
    },
    subscribe: (_root, args, context) => updatesOf(followed, args, context),
    resolve: (retirement: Retirement) => retirement,
  }),
);
