/**
 * The leaf that each log makes of a row: canonical JSON (RFC 8785), written and hashed by the database, so
 * that no row is transferred for it.
 *
 * A form never changes: otherwise logged leaves could not be computed again. A further column gets a form of
 * its own.
 */
import type { LOG_NAMES } from '../db/tables/transparency.ts';

export type LogName = (typeof LOG_NAMES)[number];

/**
 * By the names in the JSON: an SQL expression for the value's JSON or, as `quoted`, for the text between its
 * quotes. `quoted` joins fewer texts, which saves a quarter of a leaf's time, and a full reconciliation
 * writes every leaf.
 */
type Fields = Readonly<Record<string, string | { quoted: string }>>;

const text = (column: string) => `coalesce(to_json(${column}), 'null')`;
/**
 * For columns that are never null, with ids, names of the contract, enumerations or digits, in which JSON
 * escapes nothing. Decimals and numbers beyond 2^53 are strings, because most programs lose digits of JSON's
 * numbers.
 */
const quoted = (column: string) => ({ quoted: column });
/** Like quoted, for columns that may be null. */
const plain = (column: string) => `coalesce('"' || ${column}::text || '"', 'null')`;
const microsOf = (column: string) => `(extract(epoch FROM ${column}) * 1000000)::bigint`;
const micros = (column: string) => plain(microsOf(column));
const texts = (column: string) => `coalesce(to_json(${column}), '[]')`;

/** Puts the fields in the order of their names, as RFC 8785 requires. */
function jsonOf(fields: Fields): string {
  const parts: string[] = [];
  let before = '{';
  for (const [name, value] of Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const [quote, expression] = typeof value === 'string' ? ['', value] : ['"', value.quoted];
    parts.push(`'${before}"${name}":${quote}'`, expression);
    before = `${quote},`;
  }
  return `concat(${parts.join(', ')}, '${before.slice(0, -1)}}')`;
}

/** Keeps an entry within the 65,535 bytes of tlog-tiles, even when each byte is escaped with six. */
const MAX_TEXT_BYTES = 4_096;

/** A holder's text may be longer than an entry; then its digest replaces it. */
function boundedText(name: string, column: string): string {
  return `CASE WHEN octet_length(${column}) <= ${MAX_TEXT_BYTES} THEN '"${name}":' || ${text(column)}
    ELSE '"${name}Sha256":"' || encode(sha256(convert_to(${column}, 'UTF8')), 'hex') || '"' END`;
}

/**
 * The public and unchanging facts of the token's record r. A record that was dated anew, after its chain was
 * rolled back, is in the log with its first date.
 */
export const RECORD_LEAF = `('{"amount":' || ${plain('r.amount_base_units')} || ',' || ${boundedText('beneficiary', 'r.beneficiary')}
  || ',"index":' || r.index || ',' || ${boundedText('note', 'r.note')} || ',"retiredBy":' || ${text('r.retired_by')}
  || ',"timestamp":' || coalesce(r.first_timestamp, r.timestamp) || ',"tokenAddress":' || ${text('r.token_address')} || '}')`;

/** The cause of the transfer t: facts of the issued project x, the retirement r or the credit transfer itself. */
const CAUSE_OF_TRANSFER = `CASE t.kind
  WHEN 'issue' THEN ${jsonOf({
    assetId: text('x.asset_id'),
    assetKey: text('x.asset_key'),
    creditType: text('x.credit_type'),
    verificationBodyRef: text('x.verification_body_ref'),
    vintageYear: plain('x.vintage_year'),
    projectLocation: text('x.project_location'),
    projectType: text('x.project_type'),
    countryCode: text('x.country_code'),
    tokenName: text('x.token_name'),
    tokenAddress: text('x.token_address'),
    developerId: text('x.developer_id'),
    createdAtMicros: micros('x.created_at'),
  })}
  WHEN 'retirement_hold' THEN ${jsonOf({
    beneficiary: text('r.beneficiary'),
    note: text('r.note'),
    beneficiaryId: text('r.beneficiary_id'),
    jurisdiction: text('r.jurisdiction'),
    reason: text('r.reason'),
    periodFrom: text('r.period_from'),
    periodUntil: text('r.period_until'),
    createdAtMicros: micros('r.created_at'),
  })}
  WHEN 'credit_transfer' THEN ${jsonOf({ memo: text('t.memo') })}
  ELSE 'null' END`;

/**
 * The transfer t, with the owners of its accounts d and c, and its cause. The random id keeps others from
 * guessing the data behind a hash.
 */
export const TRANSFER_LEAF = jsonOf({
  id: quoted('t.id'),
  projectId: quoted('t.project_id'),
  kind: quoted('t.kind'),
  causeId: quoted('t.cause_id'),
  debitAccountId: quoted('t.debit_account_id'),
  debitOwnerId: text('d.owner_id'),
  debitVersion: quoted('t.debit_version'),
  debitBalanceTonnes: quoted('t.debit_balance_tonnes'),
  creditAccountId: quoted('t.credit_account_id'),
  creditOwnerId: text('c.owner_id'),
  creditVersion: quoted('t.credit_version'),
  creditBalanceTonnes: quoted('t.credit_balance_tonnes'),
  tonnes: quoted('t.amount_tonnes'),
  pricePerTonne: plain('t.price_per_tonne'),
  priceCurrency: plain('t.price_currency'),
  createdAtMicros: quoted(microsOf('t.created_at')),
  cause: CAUSE_OF_TRANSFER,
});

/** Left joins, so that a transfer whose account or cause is missing still has a leaf, a different one. */
export const RELATED_TO_TRANSFER = `LEFT JOIN accounts d ON d.id = t.debit_account_id LEFT JOIN accounts c ON c.id = t.credit_account_id
  LEFT JOIN projects x ON t.kind = 'issue' AND x.id = t.cause_id
  LEFT JOIN retirements r ON t.kind = 'retirement_hold' AND r.id = t.cause_id`;

const BEGUN_ENTRY: Fields = {
  id: quoted('e.id'),
  kind: quoted('e.kind'),
  writerId: quoted('e.writer_id'),
  number: quoted('e.number'),
  startedAtMicros: quoted(microsOf('e.started_at')),
  requestId: text('e.request_id'),
  callerSubject: text('e.caller_subject'),
  callerRoles: texts('e.caller_roles'),
  apiKeyId: plain('e.api_key_id'),
  remoteAddress: text('e.remote_address'),
  field: quoted('e.field'),
};

/** The mutation's entry e before its outcome is known, without the columns that the outcome adds. */
export const BEGUN_ENTRY_LEAF = jsonOf(BEGUN_ENTRY);

/** The whole entry e of a mutation. */
export const ENDED_ENTRY_LEAF = jsonOf({
  ...BEGUN_ENTRY,
  outcome: plain('e.outcome'),
  endedAtMicros: micros('e.ended_at'),
  targetIds: texts('e.target_ids'),
});

/** The whole entry e about a read, which never has an outcome. */
const READ_ENTRY_LEAF = jsonOf({ ...BEGUN_ENTRY, targetIds: texts('e.target_ids') });

/** SQL of a leaf's hash. @param data an expression of text */
export function hashOfLeaf(data: string): string {
  return `sha256('\\x00'::bytea || convert_to(${data}, 'UTF8'))`;
}

/** The hash of the audit entry e in its present state. */
export const ENTRY_HASH = `CASE WHEN e.kind = 'READ' THEN ${hashOfLeaf(READ_ENTRY_LEAF)}
  WHEN e.outcome IS NULL THEN ${hashOfLeaf(BEGUN_ENTRY_LEAF)} ELSE ${hashOfLeaf(ENDED_ENTRY_LEAF)} END`;
