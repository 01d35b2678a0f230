/**
 * The check of a certificate: what each step says of a file, of this registry, of the network and of the log.
 */
import { createHash } from 'node:crypto';
import { GraphQLError } from 'graphql';
import { describe, expect, it } from 'vitest';
import type { PageRequest } from '../../../src/http/server/pages.ts';
import { certificateFacts, certificateJson } from '../../../src/pages/certificateRecord.ts';
import { askedCertificate, checkCertificate, type Checked } from '../../../src/pages/checkCertificate.ts';
import type { Site } from '../../../src/pages/site.ts';
import { verifyPage } from '../../../src/pages/verify.tsx';
import { CERTIFICATE_RECORD } from '../../support/certificateRecord.ts';
import { pageSite } from '../../support/pageSite.ts';

describe('the check of a certificate', () => {
  const record = {
    ...CERTIFICATE_RECORD,
    tokenAddress: 'CABC',
    amount: '5000000000000000000',
    timestamp: 2_000,
  };
  /** The log has the record's first date: its chain was rolled back, and the burn landed again later. */
  const inclusionProof = {
    leafIndex: 0,
    entry: JSON.stringify({
      amount: record.amount,
      beneficiary: 'Acme',
      index: 0,
      note: '',
      retiredBy: 'G',
      timestamp: 1_000,
      tokenAddress: 'CABC',
    }),
    hashes: [],
    treeSize: 1,
    rootHash: '',
    checkpoint: 'api.example/logs/retirements\n1\n',
  };
  const here = pageSite();
  const answers: Record<string, unknown> = {
    Certificate: { retirementRecord: record },
    CertificateOnNetwork: { retirementRecord: { onNetwork: record } },
    CertificateInclusion: { retirementRecord: { inclusionProof } },
  };
  const ask = (others: Record<string, unknown> = {}) => {
    return async (source: string) => {
      const name = /^query (\w+)/.exec(source)?.[1] ?? '';
      const data = { ...answers, ...others }[name] ?? {};
      return data instanceof GraphQLError
        ? { data: null, errors: [data] }
        : { data: data as Record<string, unknown> };
    };
  };
  const fileOf = (changes: object, proof: unknown = null) =>
    JSON.stringify({
      ...certificateJson(here, record, { outcome: 'NOT_YET' }),
      record: { ...certificateFacts(record), ...changes },
      inclusionProof: proof,
    });
  const check = (given: string, others?: Record<string, unknown>, at: Site = here) =>
    checkCertificate(at, ask(others), askedCertificate(given));
  const outcomes = ({ steps }: Checked) => steps.map(({ outcome }) => outcome);
  const words = ({ steps }: Checked) => steps.map(({ explanation }) => explanation).join(' ');

  it('calls no file changed that has the date from before its chain was rolled back', async () => {
    const first = await check(fileOf({ timestamp: 1_000, retiredAt: '1970-01-01T00:16:40.000Z' }));
    expect(outcomes(first)).toEqual(['PASSED', 'PASSED', 'PASSED', 'PASSED', 'PASSED']);
    expect(words(first)).toContain('has the date from before the chain was rolled back');
    for (const changes of [
      { timestamp: 1_001, retiredAt: '1970-01-01T00:16:41.000Z' },
      { timestamp: 1_000 },
      { timestamp: 1_000, retiredAt: '1970-01-01T00:16:40.000Z', tonnes: '6' },
    ]) {
      expect(outcomes(await check(fileOf(changes)))[2]).toBe('FAILED');
    }
    const unsigned = { ...here, checkInclusion: () => 'NOT_SIGNED' as const };
    const forged = await check(
      fileOf({ timestamp: 1_000, retiredAt: '1970-01-01T00:16:40.000Z' }),
      {},
      unsigned,
    );
    expect(outcomes(forged)[2]).toBe('FAILED');
  });

  const failure = (code: string) => new GraphQLError('no', { extensions: { code } });
  const network = (onNetwork: unknown) => ({ CertificateOnNetwork: { retirementRecord: { onNetwork } } });
  const log = (proof: unknown) => ({ CertificateInclusion: { retirementRecord: { inclusionProof: proof } } });

  it.each([
    ['confirms it', {}, 'PASSED', 'PASSED', 'This certificate holds', 'good'],
    ['has another record', network({ ...record, amount: '1' }), 'FAILED', 'PASSED', 'does not hold', 'bad'],
    ['has no such record', network(null), 'FAILED', 'PASSED', 'does not hold', 'bad'],
    [
      'does not answer',
      { CertificateOnNetwork: failure('LEDGER_UNAVAILABLE') },
      'OPEN',
      'PASSED',
      'Not fully checked',
      'open',
    ],
    ['has it, and the log not yet', log(null), 'PASSED', 'OPEN', 'Not fully checked', 'open'],
    [
      'has it, and the log can’t be read',
      { CertificateInclusion: failure('LOG_UNAVAILABLE') },
      'PASSED',
      'OPEN',
      'Not fully checked',
      'open',
    ],
  ])(
    'holds only if the network has the same record and the log has it too: the network %s',
    async (_case, others, onNetwork, inLog, title, colour) => {
      expect(outcomes(await check(fileOf({}), others))).toEqual([
        'PASSED',
        'PASSED',
        'PASSED',
        onNetwork,
        inLog,
      ]);
      const form = new URLSearchParams({ certificate: fileOf({}) });
      const request = { ask: ask(others), form, query: new URLSearchParams() } as unknown as PageRequest;
      const text = String((await verifyPage(here, request)).body);
      const titles = ['This certificate holds', 'This certificate does not hold', 'Not fully checked'];
      expect(titles.filter((each) => text.includes(each))).toEqual([expect.stringContaining(title)]);
      expect(text).toContain(`class="result ${colour}"`);
    },
  );

  it('finds a fact that was added to, removed from or changed in a part of the record', async () => {
    const { vintageYear, ...rest } = record.project;
    for (const project of [
      { ...record.project, certifiedBy: 'the United Nations' },
      rest,
      { ...rest, vintageYear: vintageYear + 1 },
    ]) {
      const checked = await check(fileOf({ project }));
      expect(words(checked)).toContain('The file was changed: it differs in project.');
    }
  });

  it('takes the first date only from the entry of the same retirement', async () => {
    const proof = { ...inclusionProof, entry: inclusionProof.entry.replace('"index":0', '"index":1') };
    const file = fileOf({ timestamp: 1_000, retiredAt: '1970-01-01T00:16:40.000Z' }, proof);
    expect(outcomes(await check(file))).toEqual(['PASSED', 'PASSED', 'FAILED', 'PASSED', 'FAILED']);
  });

  it('lets a file lack only what the platform learns later, and not what the token has', async () => {
    const learned = { reason: 'CORSIA', txHash: 'ab' };
    const known = { Certificate: { retirementRecord: { ...record, ...learned } } };
    expect(outcomes(await check(fileOf({}), known))[2]).toBe('PASSED');
    for (const name of ['note', 'amount', 'retiredBy', 'project']) {
      expect([name, outcomes(await check(fileOf({ [name]: null }), known))[2]]).toEqual([name, 'FAILED']);
    }
  });

  it.each([
    ['amount', '1'],
    ['beneficiary', 'Other'],
    ['index', 1],
    ['note', 'other'],
    ['retiredBy', 'H'],
    ['tokenAddress', 'CXYZ'],
  ])('does not take for its proof that of an entry with another %s', async (name, value) => {
    const entry = JSON.stringify({ ...(JSON.parse(inclusionProof.entry) as object), [name]: value });
    const checked = await check(fileOf({}, { ...inclusionProof, entry }));
    expect(outcomes(checked).at(-1)).toBe('FAILED');
    expect(words(checked)).toContain(`The proof is of another entry: it differs in ${name}.`);
  });

  it('compares texts that are too long for an entry by their hashes', async () => {
    const long = { ...record, note: 'n'.repeat(2_000) };
    const others = {
      Certificate: { retirementRecord: long },
      CertificateOnNetwork: { retirementRecord: { onNetwork: long } },
    };
    const { note: _, ...entry } = JSON.parse(inclusionProof.entry) as Record<string, unknown>;
    const outcomeWith = async (hashed: string) => {
      const noteSha256 = createHash('sha256').update(hashed).digest('hex');
      const proof = { ...inclusionProof, entry: JSON.stringify({ ...entry, noteSha256 }) };
      return outcomes(await check(fileOf({ note: long.note }, proof), others)).at(-1);
    };
    expect([await outcomeWith(long.note), await outcomeWith('other')]).toEqual(['PASSED', 'FAILED']);
  });

  it('says of a damaged proof in a file that it is damaged, in place of proving it with another one', async () => {
    for (const proof of ['', {}, { ...inclusionProof, hashes: 'none' }]) {
      const checked = await check(fileOf({}, proof));
      expect(outcomes(checked).at(-1)).toBe('FAILED');
      expect(words(checked)).toContain('The proof in the file is not whole');
    }
    expect(outcomes(await check(fileOf({}))).at(-1)).toBe('PASSED');
  });

  it('does not say that there is no such retirement while the network can’t be asked', async () => {
    const unavailable = new GraphQLError('no', { extensions: { code: 'LEDGER_UNAVAILABLE' } });
    const checked = await check('VCS-1-2024-000004', { FindBySerial: unavailable });
    expect(outcomes(checked)).toEqual(['OPEN']);
    const limited = new GraphQLError('no', { extensions: { code: 'RATE_LIMITED' } });
    await expect(check('VCS-1-2024-000004', { FindBySerial: limited })).rejects.toMatchObject({
      code: 'RATE_LIMITED',
    });
  });

  it('takes no beneficiary’s name for a certificate, however its letters are written', async () => {
    const nodes = [{ ...record, beneficiary: 'Cafe\u{301}' }];
    for (const name of ['Caf\u{e9}', 'Cafe\u{301}']) {
      expect(outcomes(await check(name, { FindByName: { page: { nodes } } }))).toEqual(['FAILED']);
    }
  });

  it('names the certificates of a transaction that has several', async () => {
    const records = [record, { ...record, index: 1 }];
    const checked = await check('ab'.repeat(32), { FindByHash: { records } });
    expect(outcomes(checked)).toEqual(['OPEN']);
    expect(words(checked)).toContain('CABC-0, CABC-1');
  });
});
