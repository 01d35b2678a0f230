/**
 * Forms that installations hash, sign, seal or hand out for ever. A change here is a change of what a released
 * version has written: an entry of a log can't be computed again, a sealed text does not open, a repeated
 * request becomes another one, a key or cursor is refused. Add another form beside the old one instead.
 */
import { createHash } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { feedCursor } from '../../../src/feed/feedCursor.ts';
import { makeApiKey } from '../../../src/identity/apiKeys.ts';
import { createSealer, deriveKey } from '../../../src/lib/sealer.ts';
import { createPayoutAccounts } from '../../../src/resolvers/warehouse/offRamp/payoutAccount.ts';
import { encodeGlobalId } from '../../../src/schema/core/globalIds.ts';
import { createLogKey } from '../../../src/transparency/checkpoint.ts';
import { ENTRY_HASH, RECORD_LEAF, TRANSFER_LEAF } from '../../../src/transparency/leaves.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';

const SECRET = 'a secret of tests that never changes';
const uuid = (digit: number) => `01a20831-9c50-7168-8a8a-00000000000${digit}`;
const at = (seconds: number) => `2026-11-30T10:00:0${seconds}.123456+02:00`;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** The SQL expression of rows with these columns, by their alias; a row without columns is missing. */
async function read(expression: string, rows: Record<string, [table: string, columns: object | null]>) {
  const from = Object.entries(rows).map(
    ([alias, [table, columns]]) =>
      sql`jsonb_populate_record(NULL::${sql.raw(table)}, ${JSON.stringify(columns)}::text::jsonb) ${sql.raw(alias)}`,
  );
  const [row] = await database.handle.db.execute<{ value: string }>(
    sql`SELECT ${sql.raw(expression)} AS value FROM ${sql.join(from, sql`, `)}`,
  );
  return row?.value;
}

/** Canonical JSON (RFC 8785) of a value without numbers that are no integers. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_name, member: unknown) =>
    member === null || typeof member !== 'object' || Array.isArray(member)
      ? member
      : Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1))),
  );

describe('a record of a token', () => {
  const record = {
    amount_base_units: '5000000000000000000',
    beneficiary: 'Acme "Ltd" / é\u0001',
    index: 7,
    note: '',
    retired_by: 'GA',
    timestamp: 1795379846,
    token_address: 'CA',
  };
  const entry = {
    amount: '5000000000000000000',
    beneficiary: 'Acme "Ltd" / é\u0001',
    index: 7,
    note: '',
    retiredBy: 'GA',
    timestamp: 1795379846,
    tokenAddress: 'CA',
  };
  const leaf = (columns: object) =>
    read(RECORD_LEAF, { r: ['retirement_records', { ...record, ...columns }] });

  it('is an entry', async () => {
    expect(await leaf({})).toBe(canonical(entry));
  });

  it('keeps its first date', async () => {
    expect(await leaf({ timestamp: 1, first_timestamp: 1795379846 })).toBe(canonical(entry));
  });

  it('has the digests of long texts', async () => {
    const { note: _note, ...others } = entry;
    const beneficiary = 'a'.repeat(4096);
    const noteSha256 = 'ea5cf8db017b25b5aeb6a33bb5c794a15ebbcf6458b337cee8fbc10520117591';
    expect(await leaf({ beneficiary, note: 'b'.repeat(4097) })).toBe(
      canonical({ ...others, beneficiary, noteSha256 }),
    );
  });
});

describe('a transfer', () => {
  const transfer = {
    id: uuid(1),
    project_id: uuid(2),
    cause_id: uuid(3),
    debit_account_id: '11',
    debit_version: '3',
    debit_balance_tonnes: '-40',
    credit_account_id: '12',
    credit_version: '1',
    credit_balance_tonnes: '40',
    amount_tonnes: '40',
    created_at: at(1),
  };
  const project = {
    asset_id: 'VCS-1',
    asset_key: 'vcs-1',
    credit_type: 'VCU',
    verification_body_ref: 'VCS-1',
    vintage_year: 2024,
    project_location: 'Kenya',
    project_type: 'reforestation',
    country_code: 'KE',
    token_name: 'VCS-1 2024',
    token_address: 'CA',
    developer_id: 'dev',
    created_at: at(0),
  };
  const retirement = {
    beneficiary: 'Acme',
    note: '',
    beneficiary_id: null,
    jurisdiction: 'KE',
    reason: 'COMPLIANCE',
    period_from: '2025-01-01',
    period_until: '2026-01-01',
    created_at: at(0),
  };
  const entry = {
    cause: null,
    causeId: uuid(3),
    createdAtMicros: '1796025601123456',
    creditAccountId: '12',
    creditBalanceTonnes: '40',
    creditVersion: '1',
    debitAccountId: '11',
    debitBalanceTonnes: '-40',
    debitVersion: '3',
    id: uuid(1),
    priceCurrency: null,
    pricePerTonne: null,
    projectId: uuid(2),
    tonnes: '40',
  };
  const issue = {
    assetId: 'VCS-1',
    assetKey: 'vcs-1',
    countryCode: 'KE',
    createdAtMicros: '1796025600123456',
    creditType: 'VCU',
    developerId: 'dev',
    projectLocation: 'Kenya',
    projectType: 'reforestation',
    tokenAddress: 'CA',
    tokenName: 'VCS-1 2024',
    verificationBodyRef: 'VCS-1',
    vintageYear: '2024',
  };
  const hold = {
    beneficiary: 'Acme',
    beneficiaryId: null,
    createdAtMicros: '1796025600123456',
    jurisdiction: 'KE',
    note: '',
    periodFrom: '2025-01-01',
    periodUntil: '2026-01-01',
    reason: 'COMPLIANCE',
  };
  const leaf = (columns: object, buyerIds: [string, string]) =>
    read(TRANSFER_LEAF, {
      t: ['transfers', { ...transfer, ...columns }],
      d: ['accounts', { owner_id: buyerIds[0] }],
      c: ['accounts', { owner_id: buyerIds[1] }],
      x: ['projects', project],
      r: ['retirements', retirement],
    });

  it.each<[string, [string, string], object, object]>([
    ['issue', ['', ''], {}, { cause: issue }],
    [
      'purchase',
      ['', 'acme'],
      { price_per_tonne: '12.50', price_currency: 'USD' },
      { pricePerTonne: '12.50', priceCurrency: 'USD' },
    ],
    ['retirement_hold', ['acme', ''], {}, { cause: hold }],
    ['retirement_settle', ['', ''], {}, {}],
    ['retirement_return', ['', 'acme'], {}, {}],
    ['credit_transfer', ['acme', 'other'], { memo: 'a "memo"' }, { cause: { memo: 'a "memo"' } }],
  ])('of kind %s is an entry', async (kind, [debitOwnerId, creditOwnerId], columns, members) => {
    expect(await leaf({ kind, ...columns }, [debitOwnerId, creditOwnerId])).toBe(
      canonical({ ...entry, kind, debitOwnerId, creditOwnerId, ...members }),
    );
  });
});

describe('an entry of the audit log', () => {
  const begun = {
    id: uuid(1),
    kind: 'MUTATION',
    writer_id: uuid(2),
    number: '5',
    started_at: at(1),
    request_id: 'r1',
    caller_subject: 'acme',
    caller_roles: ['buyer', 'lender'],
    api_key_id: null,
    remote_address: '192.0.2.1',
    field: 'retire',
    outcome: null,
    ended_at: null,
    target_ids: ['CA', 'acme'],
  };
  const ended = { ...begun, outcome: 'OK', ended_at: at(2) };

  const targetIds = ['CA', 'acme'];
  const entry = {
    apiKeyId: null,
    callerRoles: ['buyer', 'lender'],
    callerSubject: 'acme',
    field: 'retire',
    id: uuid(1),
    kind: 'MUTATION',
    number: '5',
    remoteAddress: '192.0.2.1',
    requestId: 'r1',
    startedAtMicros: '1796025601123456',
    writerId: uuid(2),
  };

  it.each([
    ['that has begun', begun, entry],
    ['that has ended', ended, { ...entry, outcome: 'OK', endedAtMicros: '1796025602123456', targetIds }],
    ['about a read', { ...begun, kind: 'READ' }, { ...entry, kind: 'READ', targetIds }],
  ])('%s has the hash of its members', async (_state, row, members) => {
    const hash = createHash('sha256')
      .update(`\0${canonical(members)}`)
      .digest('hex');
    expect(await read(`encode(${ENTRY_HASH}, 'hex')`, { e: ['audit_entries', row] })).toBe(hash);
  });
});

it('signs a checkpoint with the key that follows from APP_SECRET', () => {
  const key = createLogKey(deriveKey(SECRET, 'transparency logs'));
  const origin = 'registry.example/logs/retirements';
  expect(key.verifierKey(origin)).toBe(`${origin}+45f4f3fb+AdgMRGPXHkBEPRZCWd/DyLWY5bYKwrXvGpuTxFn7tYC+`);
  const checkpoint = { origin, size: 3, root: Buffer.alloc(32, 7), networkId: 'stellar:testnet' };
  expect(key.signCheckpoint(checkpoint).split('\n')).toEqual([
    origin,
    '3',
    'BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=',
    'network stellar:testnet',
    '',
    `— ${origin} RfTz+8jleHahdNzr6eZb/n9jcudT1G6PEVmpnfHkuDzk9Hu4NhPBIgqWzIZBZtGiRk8P+auE35oRdQr+o7p+tH9jhQw=`,
    '',
  ]);
});

it('opens a sealed text', () => {
  const sealed = 'v2.7c7d317c23f9.zZx7e9KSQRNssDemReplJ1H6mjqBTG2ual_QeI0LUSXuEjbI2H-nZBTI21A';
  expect(createSealer([SECRET]).unseal(sealed, { table: 'letters', column: 'text', id: '1' })).toBe(
    'a payout account',
  );
});

it('remembers a payout account by its fingerprint', () => {
  const { fingerprint } = createPayoutAccounts(createSealer([SECRET]), deriveKey(SECRET, 'deploy salts'));
  const account = { type: 'mobile-money', accountNumber: '+254700000000', provider: 'M-Pesa' } as const;
  expect(fingerprint(account)).toBe('03f0b5c10e34eb99db8ac5a489408584ffdd107a398adfba6125d2bee2caa9d1');
});

it('hands out keys, ids and cursors', () => {
  const { key, keyHash } = makeApiKey(uuid(1), (size) => Buffer.alloc(size, 7));
  expect(key).toBe('atm_01a208319c5071688a8a000000000001_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc');
  expect(Buffer.from(keyHash).toString('hex')).toBe(
    '7bbe73fa49c843726d6d4e96e7f0b724ae65018c6661e2346f68449ae243e2e7',
  );
  expect(encodeGlobalId('Receipt', uuid(1))).toBe(
    'UmVjZWlwdDowMWEyMDgzMS05YzUwLTcxNjgtOGE4YS0wMDAwMDAwMDAwMDE',
  );
  expect(encodeGlobalId('RetirementRecord', 'CA:7')).toBe('UmV0aXJlbWVudFJlY29yZDpDQTo3');
  const longest = encodeGlobalId('RetirementRecord', `${'C'.repeat(128)}:999999999`);
  expect(longest.length).toBeLessThanOrEqual(255);
  const record = { position: 12n, tokenAddress: 'CA', index: 7, appendedAt: new Date(at(1)) };
  expect(feedCursor(record)).toBe('12.b663bc6f');
});
