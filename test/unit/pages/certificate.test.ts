/**
 * The certificate's page, and the addresses that lead to it.
 */
import { describe, expect, it } from 'vitest';
import type { PageRequest } from '../../../src/http/server/pages.ts';
import { certificatePage } from '../../../src/pages/certificate.tsx';
import type { CertificateRecord, NetworkCheck } from '../../../src/pages/certificateRecord.ts';
import { certificateRoutes } from '../../../src/pages/certificateRoutes.ts';
import { readInclusion } from '../../../src/pages/inclusion.ts';
import { CERTIFICATE_RECORD } from '../../support/certificateRecord.ts';
import { pageSite } from '../../support/pageSite.ts';

describe('the page of a certificate', () => {
  const page = (
    facts: Partial<CertificateRecord>,
    check: NetworkCheck = { outcome: 'SAME', checkedAt: 7 },
  ) => {
    const record = { ...CERTIFICATE_RECORD, ...facts };
    return String(certificatePage(pageSite(), record, check, { outcome: 'NOT_YET' }).body);
  };

  it.each<[NetworkCheck, string, string]>([
    [{ outcome: 'SAME', checkedAt: 7 }, 'good', 'The network confirms this record'],
    [{ outcome: 'DIFFERENT', checkedAt: 7, fields: ['amount'] }, 'bad', 'The network’s record differs'],
    [{ outcome: 'MISSING', checkedAt: 7 }, 'bad', 'The network has no such record'],
    [{ outcome: 'NO_ANSWER', checkedAt: 7 }, 'open', 'The network could not be asked'],
  ])('shows what the network says: %j', (check, colour, title) => {
    expect(page({}, check)).toContain(`<section class="result ${colour}"><h2>${title}</h2>`);
  });

  it('leads to the page of a beneficiary who has one', () => {
    expect(page({})).toContain('<a href="/beneficiaries/Acme">');
    expect(page({ beneficiary: 'W'.repeat(257) })).not.toContain('<a href="/beneficiaries/');
    expect(page({ beneficiary: 'W'.repeat(257) })).not.toContain('<a href="">');
  });

  it('names the first and the last serial number, and the one of one tonne once', () => {
    const serials = (last: string) =>
      /<dt>Serial numbers<\/dt><dd>(.*?)<\/dd>/.exec(page({ serialRange: { first: 'V-1', last } }))?.[1];
    expect(serials('V-1')?.replaceAll(/<.*?>/g, '')).toBe('V-1');
    expect(serials('V-2')?.replaceAll(/<.*?>/g, '')).toBe('V-1 to V-2');
  });
});

describe('an address with something else than a certificate’s id', () => {
  const TRANSACTION = 'ab'.repeat(32);

  async function answerTo(id: string, records: { index: number; beneficiary?: string }[]) {
    const nodes = records.map((facts) => ({ ...CERTIFICATE_RECORD, ...facts }));
    const ask = async (source: string) => {
      if (source.includes('FindByHash')) return { data: { records: nodes } };
      return { data: source.includes('FindByName') ? { page: { nodes } } : {} };
    };
    return certificateRoutes(pageSite())({ ask } as unknown as PageRequest, id);
  }

  it('leads to the address with the token as it is stored', async () => {
    const ask = async () => ({ data: { retirementRecord: { ...CERTIFICATE_RECORD, tokenAddress: '0xAb' } } });
    const leadsTo = async (id: string) =>
      (await certificateRoutes(pageSite())({ ask } as unknown as PageRequest, id)).headers['location'];
    expect(await leadsTo('0xab-0.json')).toBe('/retirements/0xAb-0.json');
    expect(await leadsTo('0xAb-0.json')).toBeUndefined();
  });

  it('leads to the one certificate of a transaction, and to none of several', async () => {
    const { status, headers } = await answerTo(`${TRANSACTION}.pdf`, [{ index: 3 }]);
    expect([status, headers['location']]).toEqual([308, '/retirements/C-3.pdf']);
    await expect(answerTo(TRANSACTION, [{ index: 3 }, { index: 4 }])).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
  });

  it('leads nowhere for a name, however its letters are written: it is no certificate', async () => {
    const name = 'Cafe\u{301}'.repeat(10);
    const stored = { index: 3, beneficiary: name.normalize('NFC') };
    await expect(answerTo(name, [stored])).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

it('takes no defect for a log that can’t be read', async () => {
  const ask = () => Promise.reject(new TypeError('a defect'));
  await expect(readInclusion(ask, CERTIFICATE_RECORD)).rejects.toThrow('a defect');
});
