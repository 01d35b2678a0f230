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
import { visible } from '../core/visible.ts';
import { builder } from '../core/builder.ts';
import { enumOf } from '../core/enums.ts';
import { ErrorCodeEnum } from '../core/errorCode.ts';
import { anyOf, filterInput, within } from '../core/filters.ts';
import { addList } from '../core/lists.ts';
import { auditTarget, keyword, subject } from '../core/text.ts';
import { encodeGlobalId, localId } from '../core/globalIds.ts';
import { moment, momentOrNull } from '../core/time.ts';

const AuditEntryKindEnum = enumOf<AuditEntryKind>(
  'AuditEntryKind',
  'The kind of operation that an entry of the audit log records.',
  {
    MUTATION: 'A field of a mutation.',
    READ: 'A field of a query or subscription with which an operator read the data of others.',
  },
);

const AuditOutcomeEnum = enumOf('AuditOutcome', 'The outcome of a mutation.', {
  OK: 'The mutation returned no error.',
  DRY_RUN: 'The dry run found no error. Nothing was changed.',
  FAILED: 'The mutation returned an error; `errorCode` has its code.',
});

const AuditEntryRef = builder.objectRef<AuditEntry>('AuditEntry');

builder.node(AuditEntryRef, {
  description:
    'One mutation field of one request, or one field of a query or subscription with which an operator read the ' +
    'data of others. The entry of a mutation is written before the mutation runs or together with its effect, ' +
    'and its outcome is added once. The entry of a read is written before the response is sent and gets no ' +
    'outcome. Entries are never changed otherwise, and are removed only when an operator exports old ones to a ' +
    'file. Visible to operators.',
  id: { resolve: ({ id }) => id },
  loadOne: visible(findAuditEntry, isOperator),
  fields: (t) => ({
    kind: t.expose('kind', {
      type: AuditEntryKindEnum,
      description: 'Whether the operation is a mutation or a read.',
    }),
    field: t.exposeString('field', {
      description:
        'The name of the mutation, query or subscription, such as createProject, retire or receipts.',
    }),
    callerSubject: t.exposeString('callerSubject', {
      nullable: true,
      description: 'The subject of the caller. Null for a caller without a token.',
    }),
    callerRoles: t.field({
      type: [RoleEnum],
      description: "The roles of the caller's token or API key.",
      resolve: ({ callerRoles }) => callerRoles as Role[],
    }),
    apiKeyId: t.id({
      nullable: true,
      description: 'The `id` of the API key that the caller used. Null for a token.',
      resolve: ({ apiKeyId }) => (apiKeyId === null ? null : encodeGlobalId('ApiKey', apiKeyId)),
    }),
    remoteAddress: t.exposeString('remoteAddress', { description: 'The IP address of the client.' }),
    requestId: t.exposeString('requestId', {
      description: "The id of the request, as in the server's log and in the header x-request-id.",
    }),
    startedAt: t.expose('startedAt', moment('The time the operation was requested')),
    endedAt: t.expose(
      'endedAt',
      momentOrNull('The time the mutation ended', 'Null until then, and for a read'),
    ),
    outcome: t.field({
      type: AuditOutcomeEnum,
      nullable: true,
      description:
        'The outcome of the mutation. Null while the mutation runs, and permanently when the server was killed ' +
        'meanwhile. Null for a read: the entry records what was requested and whose data it is, not whether the ' +
        'response arrived.',
      resolve: outcomeOf,
    }),
    errorCode: t.field({
      type: ErrorCodeEnum,
      nullable: true,
      description: 'The code of the error that the mutation returned. Null unless the outcome is FAILED.',
      resolve: (entry) => (outcomeOf(entry) === 'FAILED' ? (entry.outcome as ErrorCode) : null),
    }),
    targetIds: t.exposeStringList('targetIds', {
      description:
        'The objects and people that the input and the response name: addresses, subjects such as a `buyerId`, and ' +
        'the UUID within the `id` of an object. `node` does not accept such a UUID, because it does not contain the ' +
        "object's type; the filter accepts both. For a read, also the owners of the data that was shown: at most " +
        '256 per entry, with further ones in additional entries of the same request.',
    }),
  }),
});

const AuditFilterInput = filterInput('AuditEntryFilter', 'An entry', (t) => ({
  callerSubjects: t.stringList(anyOf('entries of one of these callers', subject)),
  apiKeyIds: t.globalIDList({ for: ApiKeyRef, ...anyOf('entries made with one of these API keys') }),
  fields: t.stringList(anyOf('entries of one of these fields, such as "retire"', keyword)),
  kinds: t.field({ type: [AuditEntryKindEnum], description: 'Only entries of one of these kinds.' }),
  outcomes: t.field({
    type: [AuditOutcomeEnum],
    description: 'Only entries with one of these outcomes. Reads have no outcome.',
  }),
  errorCodes: t.field({
    type: [ErrorCodeEnum],
    description: 'Only FAILED entries with one of these error codes.',
  }),
  unfinished: t.boolean({
    description: 'true: only mutations without an outcome; false: only mutations with an outcome.',
  }),
  targetIds: t.stringList(
    anyOf(
      'entries that name one of these targets: the `id` of an object, or a value of `AuditEntry.targetIds`',
      auditTarget,
      'An approved request and the object it created have the same UUID, so the `id` of either finds both. Use ' +
        '`callerSubjects` to find what a buyer did without naming a `buyerId`.',
    ),
  ),
  requestIds: t.stringList(anyOf('entries of one of these requests', keyword)),
  ...within(t, 'entries requested'),
}));

addList('auditEntries', AuditEntryRef, {
  ...forRoles(
    ['operator'],
    'A paginated list of the entries of the audit log, newest first: one entry for each mutation field, and ' +
      'entries for the data of others that operators read. `kinds: [READ]` selects the reads.',
  ),
  filter: AuditFilterInput,
  filtered: 'Filters the entries. All are listed when omitted.',
  list: (deps, { apiKeyIds, targetIds, ...rest }) =>
    listAuditEntries(deps, {
      ...rest,
      apiKeyIds: apiKeyIds?.map(({ id }) => id),
      // A text that is no object's id is kept as it was sent, because a subject may look like an id.
      targetIds: targetIds?.flatMap((id) => [...new Set([id, localId(id)])]),
    }),
});
