/**
 * retirementFeed: every retirement, replayed from a cursor and then live.
 */
import type { FeedRecord } from '../../feed/followFeed.ts';
import {
  FEED_START,
  feedCursor,
  followRetirements,
  latestCursor,
} from '../../resolvers/carbon/followRetirements.ts';
import { addressKey } from '../../lib/addressKey.ts';
import { forPublic } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { filterOf } from '../core/filters.ts';
import { RetirementFeedFilterInput } from './recordFilter.ts';
import { RetirementRecordRef } from './retirementRecord.ts';

const RetirementFeedEvent = builder.objectRef<FeedRecord>('RetirementFeedEvent').implement({
  description: 'An event of the feed: one retirement.',
  fields: (t) => ({
    cursor: t.string({
      description:
        'The cursor of the event. Pass it as `after` to resume the feed after this event, on any instance.',
      resolve: feedCursor,
    }),
    record: t.field({
      type: RetirementRecordRef,
      description: 'The retirement, as recorded by its token.',
      resolve: (record) => record,
    }),
  }),
});

builder.queryField('retirementFeedCursor', (t) =>
  t.string({
    ...forPublic(
      `The cursor of the latest event of the feed; "${FEED_START}" when the feed is empty. To miss nothing, a ` +
        'client first reads this cursor, then reads a list, and then follows `retirementFeed` after the cursor. ' +
        'Retirements that it receives twice have the same `id`.',
    ),
    resolve: (_root, _args, { dependencies }) => latestCursor(dependencies),
  }),
);

builder.subscriptionField('retirementFeed', (t) =>
  t.field({
    ...forPublic(
      'Follows every retirement of one token, or of all tokens, that matches the filter, in one order and without ' +
        'gaps or duplicates: first the events after the cursor `after`, then live events. To look up retirements, ' +
        'use `retirementRecords`, which lists the same records. A client that stops reading is disconnected and can ' +
        'resume from its last cursor.',
    ),
    type: RetirementFeedEvent,
    nullable: false,
    args: {
      tokenAddress: t.arg({
        type: 'Address',
        description:
          'Only retirements of this token. Defaults to all tokens. Errors: NOT_FOUND when no project has the token, ' +
          'because a feed of a mistyped address would stay silent forever.',
      }),
      ...filterOf(RetirementFeedFilterInput, 'Filters the retirements. All are delivered when omitted.'),
      after: t.arg.string({
        description:
          `The cursor of the last event received, or "${FEED_START}" for the whole history. When omitted, the feed ` +
          'starts now. A cursor whose event was lost, because the database was reset to an older state, is refused ' +
          'with `BAD_USER_INPUT`: start again.',
      }),
    },
    subscribe: (_root, { tokenAddress, filter, after }, { dependencies, remoteAddress }) =>
      followRetirements(dependencies, {
        filter: { ...filter, tokenAddress },
        after: after ?? null,
        reader: addressKey(remoteAddress),
      }),
    resolve: (record: FeedRecord) => record,
  }),
);
