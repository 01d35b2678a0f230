/**
 * auditEntries: the audit log, for operators.
 */
import { unixSeconds } from '../../lib/clock.ts';
import type { ErrorCode } from '../../lib/errors.ts';
import type { Role } from '../../identity/roles.ts';
import {
  auditCursor,
  countAuditEntries,
  listAuditEntries,
  type AuditEntry,
} from '../../resolvers/access/listAuditEntries.ts';
import { forRoles } from '../core/access.ts';
import { ApiKeyRef, RoleEnum } from './apiKey.ts';
import { cursorValues, keysetCursors, listNames, pageOf } from '../core/paging.ts';
import { builder } from '../core/builder.ts';
import { ErrorCodeEnum } from '../core/errorCode.ts';
import { encodeGlobalId } from '../core/globalIds.ts';
import { buyerId, keyword } from '../core/text.ts';

const AuditOutcomeEnum = builder.enumType('AuditOutcome', {
  description: 'How a mutation ended.',
  values: {
    OK: { description: 'It was answered without an error.' },
    DRY_RUN: { description: 'A dry run found nothing wrong, and nothing was changed.' },
    FAILED: { description: 'It was answered with an error: `errorCode` tells which.' },
  },
});

const AuditEntryRef = builder.objectRef<AuditEntry>('AuditEntry').implement({
  description:
    'One mutation field of one request. The entry is written before the field runs, and never changed or removed; its ' +
    'outcome is added once.',
  fields: (t) => ({
    id: t.exposeString('id', { description: 'The UUID of the entry.' }),
    field: t.exposeString('field', { description: 'The mutation: createProject, retire, …' }),
    callerSubject: t.exposeString('callerSubject', {
      nullable: true,
      description: "The caller's subject; null for a caller without a token.",
    }),
    callerRoles: t.field({
      type: [RoleEnum],
      description: 'The roles of the token or API key.',
      resolve: ({ callerRoles }) => callerRoles as Role[],
    }),
    apiKeyId: t.id({
      nullable: true,
      description: 'The `id` of the API key that was used; null for a token.',
      resolve: ({ apiKeyId }) => (apiKeyId === null ? null : encodeGlobalId('ApiKey', apiKeyId)),
    }),
    remoteAddress: t.exposeString('remoteAddress', { description: "The client's IP address." }),
    requestId: t.exposeString('requestId', {
      description: 'The request id, as in the log and the header x-request-id.',
    }),
    startedAt: t.field({
      type: 'UnixTime',
      description: 'When it was requested, in Unix seconds.',
      resolve: ({ startedAt }) => unixSeconds(startedAt),
    }),
    endedAt: t.field({
      type: 'UnixTime',
      nullable: true,
      description: 'When it ended, in Unix seconds; null before.',
      resolve: ({ endedAt }) => (endedAt === null ? null : unixSeconds(endedAt)),
    }),
    outcome: t.field({
      type: AuditOutcomeEnum,
      nullable: true,
      description: 'How it ended; null while it runs, and permanently when the server was killed meanwhile.',
      resolve: ({ outcome }) =>
        outcome === null || outcome === 'OK' || outcome === 'DRY_RUN' ? outcome : 'FAILED',
    }),
    errorCode: t.field({
      type: ErrorCodeEnum,
      nullable: true,
      description: 'The code of the error that it was answered with; null unless it FAILED.',
      resolve: ({ outcome }) =>
        outcome === 'OK' || outcome === 'DRY_RUN' ? null : (outcome as ErrorCode | null),
    }),
    subjectIds: t.exposeStringList('subjectIds', {
      description: 'The ids and addresses that the input named or the answer had.',
    }),
  }),
});

const AuditFilterInput = builder.inputType('AuditFilter', {
  description: 'Entries must match all of these.',
  fields: (t) => ({
    callerSubject: t.string({ validate: { schema: buyerId }, description: 'Only entries of this caller.' }),
    apiKeyId: t.globalID({ for: ApiKeyRef, description: 'Only entries of this API key.' }),
    field: t.string({ validate: { schema: keyword }, description: 'Only entries of this mutation.' }),
    outcomes: t.field({ type: [AuditOutcomeEnum], description: 'Only entries with one of these outcomes.' }),
    errorCodes: t.field({
      type: [ErrorCodeEnum],
      description: 'Only entries that FAILED with one of these codes.',
    }),
    unfinished: t.boolean({
      description: 'true: only entries without an outcome; false: only those with one.',
    }),
    subjectId: t.string({
      validate: { schema: keyword },
      description: 'Only entries that name this UUID, address or buyerId.',
    }),
    requestId: t.string({ validate: { schema: keyword }, description: 'Only entries of this request.' }),
    from: t.field({ type: 'UnixTime', description: 'Only entries from this time on, in Unix seconds.' }),
    until: t.field({ type: 'UnixTime', description: 'Only entries before this time, in Unix seconds.' }),
  }),
});

const cursors = keysetCursors('auditEntries', cursorValues.moment);

builder.queryField('auditEntries', (t) =>
  t.connection(
    {
      ...forRoles(
        ['operator'],
        'The audit log: one entry for each mutation field, newest first, a page at a time.',
      ),
      type: AuditEntryRef,
      nullable: true,
      args: { filter: t.arg({ type: AuditFilterInput, description: 'Which entries.' }) },
      resolve: (_root, args, { dependencies }) => {
        const { unfinished, apiKeyId, ...rest } = args.filter ?? {};
        const filter = { ...rest, isUnfinished: unfinished, apiKeyId: apiKeyId?.id };
        return pageOf(args, cursors, {
          list: (page) => listAuditEntries(dependencies, filter, page),
          cursorOf: auditCursor,
          count: () => countAuditEntries(dependencies, filter),
        });
      },
    },
    ...listNames('AuditEntry'),
  ),
);
