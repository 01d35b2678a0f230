/**
 * Builds the call of the database's function post_transfers. Its arguments are JSON: each account is listed
 * once, and postings refer to an account by its place in that list.
 */
import { sql, type SQL } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import { encodeAuditRow, type AuditRow } from '../../db/auditRows.ts';
import { PROGRAM_VERSION } from '../../lib/programVersion.ts';
import type { AccountRef, Posting } from './postings.ts';

export interface PostingKey {
  callerSubject: string;
  operation: string;
  key: string;
  /** SHA-256 of the canonical input. */
  inputHash: string;
}

export interface EncodablePosting {
  posting: Posting;
  key?: PostingKey;
  /** Only for a purchase, which is refused if the price of a tonne is another one. */
  expectedPrice?: { amount: string; currency: string } | null | undefined;
  /** Written to the audit log if the posting is posted, in the same transaction. */
  entry?: AuditRow | undefined;
}

/** The answer of post_transfers for a posting; 64-bit integers are text. */
export type PostingRow = {
  outcome: 'POSTED' | 'SHORT' | 'PRICE_CHANGED' | 'REPLAYED' | 'CONFLICT' | 'NO_PROJECT';
  project_id: string | null;
  available: string | null;
  target_id: string;
  /** Only for a purchase: the present price of a tonne. */
  price_per_tonne: string | null;
  price_currency: string | null;
};

/** Accounts, postings, entries, their time, and the writer of the entries with its version. */
type PostParameters = [string, string, string, string, string | null, string];

const callWith = ([accounts, postings, entries, at, writerId, version]: PostParameters): SQL =>
  sql`SELECT * FROM post_transfers(${accounts}::text::json, ${postings}::text::json, ${entries}::text::json, ${at}, ${writerId}, ${version})`;

/** The text of the prepared statement. */
export const POST = new PgDialect().sqlToQuery(callWith(['', '', '', '', '', ''])).sql;

/** The parameters of `POST`. @param writerId the writer of the audit log's entries; null if there are none */
export function parametersOfPost(
  items: readonly EncodablePosting[],
  at: Date,
  writerId: string | null,
): PostParameters {
  return [...encodePostings(items), at.toISOString(), writerId, PROGRAM_VERSION];
}

/** The same call as a statement for a transaction. */
export function postStatement(items: readonly EncodablePosting[], at: Date, writerId: string | null): SQL {
  return callWith(parametersOfPost(items, at, writerId));
}

/** @returns accounts, postings and entries */
function encodePostings(items: readonly EncodablePosting[]): [string, string, string] {
  const accounts: object[] = [];
  const places = new Map<string, number>();
  const placeOf = (posting: Posting, account: AccountRef) => {
    const owner = account.kind === 'buyer' ? account.buyerId : '';
    const project = 'projectId' in posting ? posting.projectId : posting.tokenAddress;
    const identity = `${project} ${account.kind} ${owner}`;
    const known = places.get(identity);
    if (known !== undefined) return known;
    const place = accounts.push({
      ['projectId' in posting ? 'project' : 'token']: project,
      kind: account.kind,
      owner,
    });
    places.set(identity, place);
    return place;
  };
  const entries: object[] = [];
  const postings = items.map(({ posting, key, expectedPrice, entry }, i) => {
    if (entry) entries.push({ posting: i + 1, ...encodeAuditRow(entry) });
    return {
      id: posting.id,
      kind: posting.kind,
      cause: posting.causeId,
      debit: placeOf(posting, posting.debit),
      credit: placeOf(posting, posting.credit),
      tonnes: posting.amountTonnes.toString(),
      memo: posting.memo,
      price: expectedPrice?.amount,
      currency: expectedPrice?.currency,
      caller: key?.callerSubject,
      operation: key?.operation,
      key: key?.key,
      hash: key?.inputHash,
    };
  });
  return [JSON.stringify(accounts), JSON.stringify(postings), JSON.stringify(entries)];
}
