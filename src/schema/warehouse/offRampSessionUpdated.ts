/**
 * offRampSessionUpdated: an off-ramp session as it changes.
 */
import {
  findOffRampSession,
  FOLLOWED_SESSIONS,
  type OffRampSession,
} from '../../resolvers/warehouse/offRamp/findOffRampSession.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { UPDATES, updatesOf } from '../core/updates.ts';
import { maySeeOffRampSession, OffRampSessionRef } from './offRampSession.ts';

const followed = {
  kind: FOLLOWED_SESSIONS,
  find: findOffRampSession,
  maySee: maySeeOffRampSession,
  noun: 'off-ramp session',
};

builder.subscriptionField('offRampSessionUpdated', (t) =>
  t.field({
    ...forRoles(
      ['farmer', 'operator'],
      `An off-ramp session. ${UPDATES}The subscription ends when the session is SETTLED, REFUNDED or CLOSED; a late deposit or a late ` +
        'status from the provider can still reopen it, so read it again. NOT_FOUND when the caller may see none by that id.',
    ),
    type: OffRampSessionRef,
    args: {
      id: t.arg.globalID({
        for: OffRampSessionRef,
        required: true,
        description: 'The `id` of the off-ramp session.',
      }),
    },
    subscribe: (_root, args, context) => updatesOf(followed, args, context),
    resolve: (session: OffRampSession) => session,
  }),
);
