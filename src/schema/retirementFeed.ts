/**
 * retirementFeed: every retirement, replayed from a cursor and then live.
 */
import type { FeedRecord } from '../feed/followFeed.ts';
import { FEED_START, feedCursor, followRetirements } from '../resolvers/followRetirements.ts';
import { forEverybody } from './access.ts';
import { endableStream } from './endableStream.ts';
import { builder } from './platform.ts';
import { RetirementRecordRef } from './retirementRecord.ts';
import { address } from './text.ts';

const RetirementFeedEvent = builder.objectRef<FeedRecord>('RetirementFeedEvent').implement({
  description: 'One retirement in the feed.',
  fields: (t) => ({
    cursor: t.string({
      description: 'Keep it: `after` with it resumes the feed behind this event, on any instance.',
      resolve: feedCursor,
    }),
    record: t.field({
      type: RetirementRecordRef,
      description: "The retirement, as its token's record says it.",
      resolve: (record) => record,
    }),
  }),
});

builder.subscriptionField('retirementFeed', (t) =>
  t.field({
    ...forEverybody(
      'Every retirement of one token or of all, in one order, without gap or repeat: first what came after `after`, then ' +
        'live. Over graphql-transport-ws, or as server-sent events on the same address. A reader that stops reading is cut ' +
        'off, and resumes with its last cursor.',
    ),
    type: RetirementFeedEvent,
    args: {
      tokenAddress: t.arg.string({
        validate: { schema: address },
        description: "Only this token's retirements; all tokens' without it.",
      }),
      after: t.arg.string({
        description: `The cursor of the last event that you have seen; "${FEED_START}" for the whole history; without it, from now on.`,
      }),
    },
    subscribe: (_root, { tokenAddress, after }, { dependencies }) =>
      endableStream((signal) =>
        followRetirements(dependencies, { tokenAddress: tokenAddress ?? null, after: after ?? null, signal }),
      ),
    resolve: (record: FeedRecord) => record,
  }),
);
