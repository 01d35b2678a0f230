/**
 * The public pages: their paths, and the answer of each.
 *
 *   /                            totals, live retirements, search
 *   /projects, /projects/:assetId
 *   /retirements/:id             the certificate; .json, .pdf, /badge.svg
 *   /beneficiaries/:name         all retirements of one; .csv
 *   /receipts/:token             a warehouse receipt
 *   /verify                      checks a certificate
 *   /console                     the operator's console, a frame without data
 *   /assets/…                    styles and scripts
 */
import type { PageAnswer, PageRequest, PublicPages } from '../http/server/pages.ts';
import { DomainError } from '../lib/errors.ts';
import { assetAt } from './assets.ts';
import { beneficiaryCsv, beneficiaryPage } from './beneficiary.tsx';
import { certificateRoutes } from './certificateRoutes.ts';
import { consolePage } from './console.tsx';
import { errorPage } from './errorPage.tsx';
import { homePage } from './home.tsx';
import { createOverview } from './overview.ts';
import { projectPage } from './project.tsx';
import { projectsPage } from './projects.tsx';
import { receiptPage } from './receipt.tsx';
import { BENEFICIARY_IN_PATH } from './records.ts';
import type { Site } from './site.ts';
import { verifyPage } from './verify.tsx';

type Answer = (request: PageRequest, ...parts: string[]) => Promise<PageAnswer>;
type Route = readonly [pattern: RegExp, answer: Answer];

export function createPages(site: Site): PublicPages {
  const overview = createOverview(site.clock);
  const routes: readonly Route[] = [
    [/^\/$/, async (request) => homePage(site, request, await overview(request.ask))],
    [/^\/retirements\/(.+)$/, certificateRoutes(site)],
    [/^\/projects$/, async (request) => projectsPage(site, request, await overview(request.ask))],
    [/^\/projects\/([^/]+)$/, (request, assetId = '') => projectPage(site, request, assetId)],
    [
      new RegExp(`^${BENEFICIARY_IN_PATH}\\.csv$`),
      (request, name = '') => beneficiaryCsv(site, request, name),
    ],
    [new RegExp(`^${BENEFICIARY_IN_PATH}$`), (request, name = '') => beneficiaryPage(site, request, name)],
    [/^\/receipts\/([^/]+)$/, (request, token = '') => receiptPage(site, request, token)],
    [/^\/verify$/, (request) => verifyPage(site, request)],
    [/^\/console$/, async () => consolePage(site)],
    [/^\/assets\/(.+)$/, async ({ path }) => assetAt(path) ?? noPage()],
  ];
  const find = (path: string) => routes.find(([pattern]) => pattern.test(path));
  return {
    has: (path) => find(path) !== undefined,
    async answer(request) {
      const [pattern, answer] = find(request.path) ?? noPage();
      return answer(request, ...(pattern.exec(request.path)?.slice(1).map(decoded) ?? []));
    },
    failure: (failure) => errorPage(site, failure),
  };
}

/** @throws DomainError NOT_FOUND for a part that is not a valid encoding */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return noPage();
  }
}

function noPage(): never {
  throw new DomainError('NOT_FOUND', 'There is no page at this address.');
}
