/**
 * The page and the file of a beneficiary: which names have them, and how far each file goes.
 */
import { describe, expect, it } from 'vitest';
import type { PageRequest } from '../../../src/http/server/pages.ts';
import { beneficiaryCsv, beneficiaryPage } from '../../../src/pages/beneficiary.tsx';
import { CERTIFICATE_RECORD } from '../../support/certificateRecord.ts';
import { pageSite } from '../../support/pageSite.ts';

const site = pageSite();
const pageOf = (nodes: unknown[], endCursor: string | null) => ({
  retirementRecords: { nodes, pageInfo: { hasNextPage: endCursor !== null, endCursor } },
});

describe('a name of which the registry has no retirement', () => {
  const ask = async (source: string) => ({
    data: source.includes('retirementTotals') ? { retirementTotals: { nodes: [] } } : pageOf([], null),
  });
  const request = { ask, query: new URLSearchParams() } as unknown as PageRequest;

  it.each([
    ['page', beneficiaryPage],
    ['file', beneficiaryCsv],
  ])('has no %s', async (_kind, answer) => {
    await expect(answer(site, request, 'Acme')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('a file of a beneficiary with more retirements than it holds', () => {
  /** Each page has one record, whose index is the number of its place; the list never ends. */
  async function fileAfter(after: string | null) {
    const asked: unknown[] = [];
    const ask = async (_source: string, variables: Record<string, unknown> = {}) => {
      if (asked.push(variables['after']) > 20) throw new Error('it asks without an end');
      const index = Number(variables['after'] ?? 0);
      return { data: pageOf([{ ...CERTIFICATE_RECORD, index }], String(index + 1)) };
    };
    const query = new URLSearchParams(after === null ? {} : { after });
    const { headers, body } = await beneficiaryCsv(site, { ask, query } as unknown as PageRequest, 'Acme');
    const rows = String(body).trim().split('\r\n').slice(1);
    return { asked, link: headers['link'], certificates: rows.map((row) => row.split(',').at(-1)) };
  }
  const certificates = (first: number) =>
    Array.from({ length: 10 }, (_, i) => `https://api.example/retirements/C-${first + i}`);

  it('has the records of ten pages, and leads to the next file, which continues there', async () => {
    const first = await fileAfter(null);
    expect(first.certificates).toEqual(certificates(0));
    expect(first.link).toBe('</beneficiaries/Acme.csv?after=10>; rel="next"');
    const next = await fileAfter('10');
    expect(next.certificates).toEqual(certificates(10));
    expect(next.asked[0]).toBe('10');
  });
});
