/**
 * auditEntries: the audit log, for operators.
 */
import type { ErrorCode } from '../../lib/errors.ts';
import type { Role } from '../../identity/roles.ts';
import {
  findAuditEntry,
  listAuditEntries,
  outcomeOf,
  type AuditEntry,
  type AuditEntryKind,
} from '../../resolvers/access/listAuditEntries.ts';
import { forRoles } from '../core/access.ts';
import { isOperator } from '../core/caller.ts';
import { ApiKeyRef, RoleEnum } from './apiKey.ts';
import { keysetCursors, listNames, pageOf } from '../core/paging.ts';
import { builder } from '../core/builder.ts';
import { ErrorCodeEnum } from '../core/errorCode.ts';
import {
  auditTargetList,
  FILTER_RULE,
  filterList,
  keywordList,
  oneOf,
  subjectList,
} from '../core/filters.ts';
import { encodeGlobalId, localId } from '../core/globalIds.ts';
import { fromTime, moment, momentOrNull, untilTime } from '../core/time.ts';

const AuditEntryKindEnum = builder.enumType('AuditEntryKind', {
  description: 'What an entry of the audit log is about.',
  values: {
    MUTATION: { description: 'A field of a mutation.' },
    READ: { description: 'A field of a query or subscription, with which an operator read data of others.' },
  } as const satisfies Record<AuditEntryKind, { description: string }>,
});

const AuditOutcomeEnum = builder.enumType('AuditOutcome', {
  description: 'How a mutation ended.',
  values: {
    OK: { description: 'It was answered without an error.' },
    DRY_RUN: { description: 'A dry run found nothing wrong, and nothing was changed.' },
    FAILED: { description: 'It was answered with an error: `errorCode` says which.' },
  },
});

const AuditEntryRef = builder.objectRef<AuditEntry>('AuditEntry');

builder.node(AuditEntryRef, {
  description:
    'One mutation field of one request, or one field of a query or subscription with which an operator read data of others. The ' +
    'entry is written before the mutation runs, or with its effect, and never changed or removed; its outcome is added once. ' +
    'That of a read is written before the answer is sent, and gets no outcome. Visible to operators.',
  id: { resolve: ({ id }) => id },
  loadOne: (id: string, { caller, dependencies }) =>
    isOperator(caller) ? findAuditEntry(dependencies, id) : null,
  fields: (t) => ({
    kind: t.expose('kind', { type: AuditEntryKindEnum, description: 'Whether it changes or reads.' }),
    field: t.exposeString('field', {
      description: 'The mutation, or what was read: createProject, retire, receipts, …',
    }),
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
    startedAt: t.expose('startedAt', moment('When it was requested')),
    endedAt: t.expose('endedAt', momentOrNull('When the mutation ended', 'null before, and of a read')),
    outcome: t.field({
      type: AuditOutcomeEnum,
      nullable: true,
      description:
        'How the mutation ended; null while it runs, and permanently when the server was killed meanwhile. Null of a read: ' +
        'its entry says what was asked for and whose data it is, not whether the answer arrived.',
      resolve: outcomeOf,
    }),
    errorCode: t.field({
      type: ErrorCodeEnum,
      nullable: true,
      description: 'The code of the error that the mutation was answered with; null unless it FAILED.',
      resolve: (entry) => (outcomeOf(entry) === 'FAILED' ? (entry.outcome as ErrorCode) : null),
    }),
    targetIds: t.exposeStringList('targetIds', {
      description:
        'What the input and the answer name: addresses, subjects such as a `buyerId`, and of an object the UUID within its `id`. ' +
        'A UUID does not say its type, so `node` does not take it; the filter takes both. For a read, also those whose data ' +
        'was shown: at most 256, the rest in further entries of the same request.',
    }),
  }),
});

const AuditFilterInput = builder.inputType('AuditEntryFilter', {
  description: `An entry ${FILTER_RULE}`,
  fields: (t) => ({
    callerSubjects: t.stringList({
      validate: { schema: subjectList },
      description: oneOf('Of one of these callers'),
    }),
    apiKeyIds: t.globalIDList({
      for: ApiKeyRef,
      validate: { schema: filterList() },
      description: oneOf('Made with one of these API keys'),
    }),
    fields: t.stringList({
      validate: { schema: keywordList },
      description: oneOf('Of one of these fields, such as "retire"'),
    }),
    kinds: t.field({ type: [AuditEntryKindEnum], description: 'Of one of these kinds.' }),
    outcomes: t.field({
      type: [AuditOutcomeEnum],
      description: 'With one of these outcomes; no read has one.',
    }),
    errorCodes: t.field({ type: [ErrorCodeEnum], description: 'FAILED with one of these codes.' }),
    unfinished: t.boolean({
      description: 'true: only mutations without an outcome; false: only those with one.',
    }),
    targetIds: t.stringList({
      validate: { schema: auditTargetList },
      description:
        `${oneOf('That name one of these: the `id` of an object, or what `AuditEntry.targetIds` shows')} An approved request ` +
        'and what it created have the same UUID, so the `id` of either finds both. What a buyer did without naming a ' +
        "`buyerId` is found by the buyer's `callerSubjects`.",
    }),
    requestIds: t.stringList({
      validate: { schema: keywordList },
      description: oneOf('Of one of these requests'),
    }),
    from: t.field(fromTime('Requested')),
    until: t.field(untilTime('Requested')),
  }),
});

const cursors = keysetCursors('auditEntries');

builder.queryField('auditEntries', (t) =>
  t.connection(
    {
      ...forRoles(
        ['operator'],
        'The audit log: one entry for each mutation field, and for what operators read of others, newest first, a page at a ' +
          'time. `kinds: [READ]` selects the latter.',
      ),
      type: AuditEntryRef,
      nullable: true,
      args: { filter: t.arg({ type: AuditFilterInput, description: 'Which entries; all when omitted.' }) },
      resolve: (_root, args, { dependencies }) => {
        const { unfinished, apiKeyIds, targetIds, ...rest } = args.filter ?? {};
        const filter = {
          ...rest,
          isUnfinished: unfinished,
          apiKeyIds: apiKeyIds?.map(({ id }) => id),
          // A text that is no object's id is kept as it was sent, because a subject may look like an id.
          targetIds: targetIds?.flatMap((id) => [...new Set([id, localId(id)])]),
        };
        return pageOf(args, cursors, listAuditEntries(dependencies, filter));
      },
    },
    ...listNames('AuditEntry'),
  ),
);
