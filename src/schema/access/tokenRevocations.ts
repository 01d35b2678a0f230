/**
 * TokenRevocation: bearer tokens that ended before their expiry.
 */
import type { TokenRevocationRow } from '../../identity/tokenRevocations.ts';
import { findTokenRevocation, listTokenRevocations } from '../../resolvers/access/tokenRevocations.ts';
import { forRoles } from '../core/access.ts';
import { builder } from '../core/builder.ts';
import { isAdmin } from '../core/caller.ts';
import { FILTER_RULE, keywordList, oneOf, subjectList } from '../core/filters.ts';
import { keysetCursors, listNames, pageOf } from '../core/paging.ts';
import { moment } from '../core/time.ts';

export const TokenRevocationRef = builder.objectRef<TokenRevocationRow>('TokenRevocation');

builder.node(TokenRevocationRef, {
  description:
    'Bearer tokens that are refused before their expiry: one, by its `jti`, or those of a subject. Visible to administrators.',
  id: { resolve: ({ id }) => id },
  loadOne: (id: string, { caller, dependencies }) =>
    isAdmin(caller) ? findTokenRevocation(dependencies, id) : null,
  fields: (t) => ({
    jti: t.exposeString('jti', {
      nullable: true,
      description: 'The "jti" of the one token that it is about; null when it is about a subject.',
    }),
    subject: t.exposeString('subject', {
      nullable: true,
      description: 'The "sub" of the tokens that it is about; null when it is about one token.',
    }),
    issuedUntil: t.expose('issuedUntil', {
      type: 'UnixTime',
      nullable: true,
      description:
        "The subject's tokens are refused that were issued before this time, in Unix seconds, or that " +
        'have no time of issue. Null when it is about one token.',
    }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: 'The reason; null when none was given.',
    }),
    revokedBy: t.exposeString('revokedBy', { description: 'The administrator who revoked them.' }),
    revokedAt: t.expose('revokedAt', moment('When they were revoked')),
    endsAt: t.expose('endsAt', {
      type: 'UnixTime',
      description: 'When the revocation leaves the list, in Unix seconds: the tokens have expired by then.',
    }),
  }),
});

const TokenRevocationFilterInput = builder.inputType('TokenRevocationFilter', {
  description: `A revocation ${FILTER_RULE}`,
  fields: (t) => ({
    jtis: t.stringList({
      validate: { schema: keywordList },
      description: oneOf('Of the token with one of these "jti"'),
    }),
    subjects: t.stringList({
      validate: { schema: subjectList },
      description: oneOf('Of one of these subjects'),
    }),
  }),
});

const cursors = keysetCursors('tokenRevocations');

builder.queryField('tokenRevocations', (t) =>
  t.connection(
    {
      ...forRoles(['admin'], 'The revocations that are in force, newest first, a page at a time.'),
      type: TokenRevocationRef,
      nullable: true,
      args: {
        filter: t.arg({
          type: TokenRevocationFilterInput,
          description: 'Which revocations; all when omitted.',
        }),
      },
      resolve: (_root, args, { dependencies }) => {
        const filter = args.filter ?? {};
        return pageOf(args, cursors, listTokenRevocations(dependencies, filter));
      },
    },
    ...listNames('TokenRevocation'),
  ),
);
