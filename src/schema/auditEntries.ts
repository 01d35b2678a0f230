/**
 * The audit trail, for those who run the platform.
 */
import { unixSeconds } from '../clock.ts';
import type { Role } from '../identity/roles.ts';
import { auditCursor, listAuditEntries, type AuditEntry } from '../resolvers/listAuditEntries.ts';
import { forRoles } from './access.ts';
import { ApiKeyRef, RoleEnum } from './apiKey.ts';
import { cursorValues, keysetCursors, listNames, pageOf } from './paging.ts';
import { builder } from './platform.ts';
import { encodeGlobalId } from './globalIds.ts';
import { buyerId, keyword } from './text.ts';

const AuditEntryRef = builder.objectRef<AuditEntry>('AuditEntry').implement({
  description:
    'One field of one mutation that somebody asked for. Written before it runs, and never changed or removed but for its ' +
    'outcome, which is added once.',
  fields: (t) => ({
    id: t.exposeString('id', { description: 'The UUID of the entry.' }),
    field: t.exposeString('field', { description: 'The mutation: createProject, retire, …' }),
    callerSubject: t.exposeString('callerSubject', {
      nullable: true,
      description: 'Who asked for it; null for the public.',
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
    remoteAddress: t.exposeString('remoteAddress', { description: 'The address it came from.' }),
    requestId: t.exposeString('requestId', {
      description: 'The request, as the log and the header x-request-id name it.',
    }),
    startedAt: t.field({
      type: 'UnixTime',
      description: 'When it was asked for, in Unix seconds.',
      resolve: ({ startedAt }) => unixSeconds(startedAt),
    }),
    endedAt: t.field({
      type: 'UnixTime',
      nullable: true,
      description: 'When it had its outcome, in Unix seconds; null before.',
      resolve: ({ endedAt }) => (endedAt === null ? null : unixSeconds(endedAt)),
    }),
    outcome: t.exposeString('outcome', {
      nullable: true,
      description:
        'OK, or the code of the error; null while it runs, and for ever when the server was killed meanwhile.',
    }),
    subjectIds: t.exposeStringList('subjectIds', {
      description: 'What it was about: the ids and addresses that the input named or the answer had.',
    }),
  }),
});

const AuditFilterInput = builder.inputType('AuditFilter', {
  description: 'Only entries that have all of these.',
  fields: (t) => ({
    callerSubject: t.string({ validate: { schema: buyerId }, description: 'Asked for by this subject.' }),
    apiKeyId: t.globalID({ for: ApiKeyRef, description: 'Asked for with this API key.' }),
    field: t.string({ validate: { schema: keyword }, description: 'Of this mutation.' }),
    outcome: t.string({ validate: { schema: keyword }, description: 'With this outcome.' }),
    unfinished: t.boolean({ description: 'True for those without an outcome alone.' }),
    subjectId: t.string({
      validate: { schema: keyword },
      description: 'About this UUID, address or buyerId.',
    }),
    requestId: t.string({ validate: { schema: keyword }, description: 'Of this request.' }),
    from: t.field({ type: 'UnixTime', description: 'Asked for at this time or later, in Unix seconds.' }),
    until: t.field({ type: 'UnixTime', description: 'Asked for before this time, in Unix seconds.' }),
  }),
});

const cursors = keysetCursors('auditEntries', cursorValues.moment);

builder.queryField('auditEntries', (t) =>
  t.connection(
    {
      ...forRoles(
        ['operator'],
        'Who changed what: one entry for each mutation, newest first, a page at a time.',
      ),
      type: AuditEntryRef,
      args: { filter: t.arg({ type: AuditFilterInput, description: 'Which entries.' }) },
      resolve: (_root, args, { dependencies }) => {
        const { unfinished, apiKeyId, ...rest } = args.filter ?? {};
        const filter = { ...rest, isUnfinished: unfinished, apiKeyId: apiKeyId?.id };
        return pageOf(args, cursors, (page) => listAuditEntries(dependencies, filter, page), auditCursor);
      },
    },
    ...listNames('AuditEntry'),
  ),
);
