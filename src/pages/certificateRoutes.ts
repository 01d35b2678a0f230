/**
 * `/retirements/:id` in its forms. An id in another spelling, and the API's ids, redirect to the one address.
 */
import type { PageAnswer, PageRequest } from '../http/server/pages.ts';
import { DomainError } from '../lib/errors.ts';
import { badge } from './badge.tsx';
import { certificatePage } from './certificate.tsx';
import { createCertificatePdf } from './certificatePdf.ts';
import { certificateJson, checkOnNetwork, readCertificate } from './certificateRecord.ts';
import { readInclusion } from './inclusion.ts';
import { redirect } from './layout.tsx';
import { certificatePath, publicId } from './records.ts';
import { search } from './search.ts';
import type { Site } from './site.ts';

const FORM = /^(.*?)(\.json|\.pdf|\/badge\.svg)?$/s;

export function certificateRoutes(site: Site): (request: PageRequest, rest?: string) => Promise<PageAnswer> {
  const makePdf = createCertificatePdf(site);
  return async (request, rest = '') => {
    const [, id = '', form = ''] = FORM.exec(rest) ?? [];
    const record = await readCertificate(request.ask, id);
    if (record === null) return elsewhere(request, id, form);
    if (publicId(record) !== id) return redirect(`${certificatePath(record)}${form}`);
    if (form === '/badge.svg') return badge(record);
    const reading = readInclusion(request.ask, record);
    if (form === '.json') return jsonAnswer(certificateJson(site, record, await reading));
    const [check, inclusion] = await Promise.all([checkOnNetwork(site, request.ask, record), reading]);
    if (form === '.pdf') return makePdf({ record, inclusion, check }, request);
    return certificatePage(site, record, check, inclusion);
  };
}

async function elsewhere({ ask }: PageRequest, id: string, form: string): Promise<PageAnswer> {
  const { records } = /^[\w-]{40,400}$/.test(id) ? await search(ask, id) : { records: [] };
  // A beneficiary's name may be the id of another certificate, to forge it.
  const [found, ...others] = records.filter(({ beneficiary }) => beneficiary !== id);
  if (found !== undefined && others.length === 0) return redirect(`${certificatePath(found)}${form}`);
  throw new DomainError(
    'NOT_FOUND',
    'There is no retirement with this id. One that has just been made is here a few seconds later.',
  );
}

function jsonAnswer(value: unknown): PageAnswer {
  return {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-cache' },
    body: `${JSON.stringify(value, null, 2)}\n`,
  };
}
