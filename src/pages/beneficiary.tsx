/**
 * `/beneficiaries/:name`: all retirements for one beneficiary, in this spelling or as the platform stores it;
 * and the same list as CSV.
 */
import type { PageAnswer, PageRequest } from '../http/server/pages.ts';
import { DomainError } from '../lib/errors.ts';
import { askFor, type Ask } from './ask.ts';
import { csvOf } from './csv.ts';
import { htmlAnswer } from './layout.tsx';
import { hrefOf, OlderLink, RecordList } from './parts/recordList.tsx';
import { addUp, type Totals } from './overview.ts';
import { Name } from './parts/shownText.tsx';
import { TotalFigures } from './parts/totalFigures.tsx';
import { beneficiaryPath, certificatePath, LISTED_RECORD, type ListedRecord, type Page } from './records.ts';
import { absolute, type Site } from './site.ts';
import { grouped, isoOf, shownName } from './text.ts';

/**
 * A file has the records of ten pages, which are ten questions to the API. The next file continues where this
 * one ends.
 */
const FILE_PAGES = 10;
const FILE_PAGE_SIZE = 100;

const LIST = `query Beneficiary($name: String!, $after: String, $first: Int!) {
  retirementRecords(first: $first, after: $after, filter: { beneficiaries: [$name] }) {
    nodes { ...ListedRecord serialRange { first last } txHash }
    pageInfo { hasNextPage endCursor }
  }
}
${LISTED_RECORD}`;

const TOTALS = `query BeneficiaryTotals($name: String!) {
  retirementTotals(groupBy: VINTAGE, first: 100, filter: { beneficiaries: [$name] }) { nodes { tonnes retirementCount } }
}`;

type FiledPage = Page<
  ListedRecord & { txHash: string | null; serialRange: { first: string; last: string } | null }
>;

export async function beneficiaryPage(
  site: Site,
  request: Pick<PageRequest, 'ask' | 'query'>,
  name: string,
): Promise<PageAnswer> {
  const { ask, query } = request;
  const path = beneficiaryPath(name);
  if (path === null) throw noSuchName();
  const [page, totals] = await Promise.all([
    readPage(ask, name, query.get('after'), 25),
    readTotals(ask, name),
  ]);
  if (totals?.retirementCount === 0) throw noSuchName();
  const sum = totals === null ? 'Retirements' : `${grouped(totals.tonnes)} t CO₂e retired`;
  return htmlAnswer(
    site,
    {
      title: `Retirements for ${shownName(name, 80)}`,
      description: `${sum} for ${shownName(name, 80)}.`,
      path,
      section: 'registry',
      isUnlisted: query.size > 0,
    },
    <article>
      <p class="eyebrow">Beneficiary</p>
      <h1>
        <Name name={name} max={256} />
      </h1>
      <p class="intro">
        The name is what those who retired the credits wrote. This registry does not check who wrote it; a
        name in another spelling has a page of its own.
      </p>
      {totals === null ? (
        <p class="intro">There are too many retirements to add up for a page.</p>
      ) : (
        <TotalFigures totals={{ 'Tonnes retired': totals.tonnes, Retirements: totals.retirementCount }} />
      )}
      <section>
        <div class="listhead">
          <h2>Retirements</h2>
          <p>
            <a href={`${path}.csv`}>As CSV</a>
          </p>
        </div>
        <RecordList records={page.nodes} />
        <OlderLink page={page} path={path} query={query} />
      </section>
    </article>,
  );
}

export async function beneficiaryCsv(site: Site, request: PageRequest, name: string): Promise<PageAnswer> {
  const { ask, query } = request;
  const path = beneficiaryPath(name);
  if (path === null) throw noSuchName();
  const records: FiledPage['nodes'] = [];
  let after = query.get('after');
  let hasNext = true;
  for (let page = 0; page < FILE_PAGES && hasNext; page += 1) {
    const { nodes, pageInfo } = await readPage(ask, name, after, FILE_PAGE_SIZE);
    records.push(...nodes);
    after = pageInfo.endCursor;
    hasNext = pageInfo.hasNextPage;
  }
  if (records.length === 0) throw noSuchName();
  const next = hrefOf(`${path}.csv`, new URLSearchParams({ after: after ?? '' }));
  return {
    status: 200,
    headers: {
      'content-type': 'text/csv; charset=utf-8; header=present',
      'content-disposition': 'attachment; filename="retirements.csv"',
      'cache-control': 'no-cache',
      ...(hasNext ? { link: `<${next}>; rel="next"` } : {}),
    },
    body: csvOf([HEADER, ...records.map((record) => rowOf(site, record))]),
  };
}

const HEADER = [
  'retired_at',
  'beneficiary',
  'tonnes_co2e',
  'project',
  'country',
  'vintage',
  'first_serial',
  'last_serial',
  'token',
  'record_index',
  'transaction',
  'certificate',
];

function rowOf(site: Site, record: FiledPage['nodes'][number]): string[] {
  const { project, serialRange } = record;
  return [
    isoOf(record.timestamp),
    record.beneficiary,
    record.tonnes,
    project.assetId,
    project.countryCode,
    String(project.vintageYear),
    serialRange?.first ?? '',
    serialRange?.last ?? '',
    record.tokenAddress,
    String(record.index),
    record.txHash ?? '',
    absolute(site, certificatePath(record)),
  ];
}

/** Null when there are too many retirements: anyone may make more, each of a small part of a tonne. */
async function readTotals(ask: Ask, name: string): Promise<Totals | null> {
  try {
    const answer = await askFor<{ retirementTotals: { nodes: Totals[] } }>(ask, TOTALS, { name });
    return addUp(answer.retirementTotals.nodes);
  } catch (error) {
    if (error instanceof DomainError && error.code === 'RESULT_TOO_LARGE') return null;
    throw error;
  }
}

async function readPage(ask: Ask, name: string, after: string | null, first: number): Promise<FiledPage> {
  const answer = await askFor<{ retirementRecords: FiledPage }>(ask, LIST, { name, after, first });
  return answer.retirementRecords;
}

function noSuchName(): DomainError {
  return new DomainError('NOT_FOUND', 'No retirement has a beneficiary of this name, in this spelling.');
}
