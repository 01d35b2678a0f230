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
import { RetirementFeedFilterInput } from './recordFilter.ts';
import { RetirementRecordRef } from './retirementRecord.ts';

const RetirementFeedEvent = builder.objectRef<FeedRecord>('RetirementFeedEvent').implement({
  description: 'One retirement in the feed.',
  fields: (t) => ({
    cursor: t.string({
      description:
        "The event's cursor. Pass it as `after` to resume the feed after this event, on any instance.",
      resolve: feedCursor,
    }),
    record: t.field({
      type: RetirementRecordRef,
      description: "The retirement, as its token's record shows it.",
      resolve: (record) => record,
    }),
  }),
});

builder.queryField('retirementFeedCursor', (t) =>
  t.string({
    ...forPublic(
      `The cursor of the latest event of the feed, "${FEED_START}" when there is none. A client that asks for it, then reads a list, ` +
        'and then follows `retirementFeed` after it misses nothing; what it gets twice has the same `id`.',
    ),
    nullable: true,
    resolve: (_root, _args, { dependencies }) => latestCursor(dependencies),
  }),
);

builder.subscriptionField('retirementFeed', (t) =>
  t.field({
    ...forPublic(
      'Every retirement of one token, or of all, that matches the filter, in one order, without gaps or duplicates: first the events ' +
        'after the cursor `after`, then live. To look something up, `retirementRecords` has the same records as a list. A client that stops reading is disconnected ' +
        'and resumes with its last cursor.',
    ),
    type: RetirementFeedEvent,
    args: {
      tokenAddress: t.arg({
        type: 'Address',
        description:
          'Only retirements of this token; of all tokens when omitted. Errors: NOT_FOUND when no project has it, since a feed of ' +
          'a mistyped address would stay silent for good.',
      }),
      filter: t.arg({ type: RetirementFeedFilterInput, description: 'Which retirements; all when omitted.' }),
      after: t.arg.string({
        description:
          `The cursor of the last event received; "${FEED_START}" for the whole history. When omitted, the feed starts now. One whose ` +
          'event was lost, because the database was set back to an older state, is refused with `BAD_USER_INPUT`: begin again.',
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
