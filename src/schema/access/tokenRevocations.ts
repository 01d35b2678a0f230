/**
 * TokenRevocation: bearer tokens that ended before their expiry.
 */
import type { TokenRevocationRow } from '../../identity/tokenRevocations.ts';
import { findTokenRevocation, listTokenRevocations } from '../../resolvers/access/tokenRevocations.ts';
import { forRoles } from '../core/access.ts';
import { visible } from '../core/visible.ts';
import { builder } from '../core/builder.ts';
import { isAdmin } from '../core/caller.ts';
import { anyOf, FILTER_RULE, filterOf } from '../core/filters.ts';
import { keyword, subject } from '../core/text.ts';
import { keysetCursors, listNames, pageOf } from '../core/paging.ts';
import { moment } from '../core/time.ts';

export const TokenRevocationRef = builder.objectRef<TokenRevocationRow>('TokenRevocation');

builder.node(TokenRevocationRef, {
  description:
    'A revocation of bearer tokens, which are refused before their expiry: one token, by its `jti`, or the ' +
    'tokens of a subject. Visible to administrators.',
  id: { resolve: ({ id }) => id },
  loadOne: visible(findTokenRevocation, isAdmin),
  fields: (t) => ({
    jti: t.exposeString('jti', {
      nullable: true,
      description: 'The "jti" of the revoked token. Null when the revocation is about a subject.',
    }),
    subject: t.exposeString('subject', {
      nullable: true,
      description: 'The "sub" of the revoked tokens. Null when the revocation is about one token.',
    }),
    issuedUntil: t.expose('issuedUntil', {
      type: 'UnixTime',
      nullable: true,
      description:
        "The subject's tokens that were issued before this time, in Unix seconds, are refused, and so are those " +
        'without an issue time. Null when the revocation is about one token.',
    }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: 'The reason for the revocation. Null when none was given.',
    }),
    revokedBy: t.exposeString('revokedBy', {
      description: 'The subject of the administrator who revoked the tokens.',
    }),
    revokedAt: t.expose('revokedAt', moment('The time the tokens were revoked')),
    endsAt: t.expose('endsAt', {
      type: 'UnixTime',
      description:
        'The time the revocation leaves the list, in Unix seconds. The tokens have expired by then.',
    }),
  }),
});

const TokenRevocationFilterInput = builder.inputType('TokenRevocationFilter', {
  description: `A revocation ${FILTER_RULE}`,
  fields: (t) => ({
    jtis: t.stringList(anyOf('revocations of a token with one of these "jti" values', keyword)),
    subjects: t.stringList(anyOf('revocations of one of these subjects', subject)),
  }),
});

const cursors = keysetCursors('tokenRevocations');

builder.queryField('tokenRevocations', (t) =>
  t.connection(
    {
      ...forRoles(['admin'], 'A paginated list of the revocations in force, newest first.'),
      type: TokenRevocationRef,
      args: filterOf(TokenRevocationFilterInput, 'Filters the revocations. All are listed when omitted.'),
      resolve: (_root, args, { dependencies }) =>
        pageOf(args, cursors, listTokenRevocations(dependencies, args.filter ?? {})),
    },
    ...listNames('TokenRevocation'),
  ),
);
