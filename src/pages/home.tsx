/**
 * `/`: the totals, the latest retirements, and each new retirement as it happens.
 */
import type { PageAnswer, PageRequest } from '../http/server/pages.ts';
import { askFor, askOrNull } from './ask.ts';
import { htmlAnswer } from './layout.tsx';
import type { Overview } from './overview.ts';
import { Filters, placeFilter, type PlaceFilter } from './parts/filters.tsx';
import { NO_SUCH_LIST, OlderLink, RecordItem, RecordList } from './parts/recordList.tsx';
import { Foreign } from './parts/shownText.tsx';
import { TotalFigures } from './parts/totalFigures.tsx';
import { WeekChart } from './parts/weekChart.tsx';
import { EMPTY_PAGE, LISTED_RECORD, projectPath, type ListedRecord, type RecordPage } from './records.ts';
import { search, type Found } from './search.ts';
import type { Site } from './site.ts';
import { grouped, shown } from './text.ts';

const PAGE_SIZE = 25;

const LIST = `query RegistryRecords($after: String, $filter: RetirementRecordFilter) {
  retirementRecords(first: ${PAGE_SIZE}, after: $after, filter: $filter) {
    nodes { ...ListedRecord }
    pageInfo { hasNextPage endCursor }
  }
}
${LISTED_RECORD}`;

export async function homePage(site: Site, request: PageRequest, overview: Overview): Promise<PageAnswer> {
  const text = request.query.get('q')?.trim() ?? '';
  if (text !== '') return searchPage(site, request, overview, text);
  const filter = placeFilter(request.query);
  const after = request.query.get('after');
  // Read before the list, so that a retirement in between is in both, and never missing.
  const { retirementFeedCursor: cursor } = await askFor<{ retirementFeedCursor: string }>(
    request.ask,
    'query FeedCursor { retirementFeedCursor }',
  );
  const answer = await askOrNull<{ retirementRecords: RecordPage }>(request.ask, LIST, { after, filter });
  const page = answer?.retirementRecords ?? EMPTY_PAGE;
  // The feed would refuse the same filter, and live.js would then reload the page.
  const isLive = after === null && answer !== null;
  return htmlAnswer(
    site,
    {
      title: 'Retired carbon credits',
      description: `${grouped(overview.tonnes)} t CO₂e retired. Each retirement is a public record of the ledger network.`,
      path: '/',
      section: 'registry',
      isUnlisted: request.query.size > 0,
      ...(isLive ? { script: 'live.js' } : {}),
    },
    <>
      <section class="lead">
        <h1>Retired carbon credits</h1>
        <p class="intro">
          A retired credit is burned on the ledger network: it can't be sold or used again. Each retirement
          has a certificate here, with a permanent address, that anyone can check.
        </p>
        <TotalFigures
          totals={{
            'Tonnes retired': overview.tonnes,
            Retirements: overview.retirementCount,
            Projects: overview.projects,
          }}
        />
        <WeekChart weeks={overview.weeks} />
      </section>
      <Search text="" />
      <section aria-labelledby="list-title">
        <div class="listhead">
          <h2 id="list-title">{after === null ? 'Latest retirements' : 'Earlier retirements'}</h2>
          {isLive ? <LiveState cursor={cursor} filter={filter} /> : null}
        </div>
        <Filters
          action="/"
          query={request.query}
          choices={{ country: overview.countryCodes, vintage: overview.vintageYears.map(String) }}
        />
        <RecordList records={page.nodes} isLive={isLive} />
        <p class="empty" id="empty" hidden={page.nodes.length > 0}>
          {answer === null ? NO_SUCH_LIST : 'No retirements here yet.'}
        </p>
        <OlderLink page={page} path="/" query={request.query} />
      </section>
    </>,
  );
}

function Search({ text }: { text: string }) {
  return (
    <form class="search" action="/" role="search">
      <label for="q">Find a retirement or project</label>
      <div class="row">
        <input
          id="q"
          name="q"
          type="search"
          value={shown(text, 256)}
          maxlength={256}
          aria-describedby="q-help"
          required
        />
        <button type="submit">Search</button>
      </div>
      <p id="q-help" class="fine">
        Beneficiary (in its exact spelling), project's asset id, serial number, transaction hash, token
        address or certificate id.
      </p>
    </form>
  );
}

/** The cursor from which live.js continues, and the template that it fills for each retirement. */
function LiveState({ cursor, filter }: { cursor: string; filter: PlaceFilter }) {
  const blank: ListedRecord = {
    index: 0,
    tokenAddress: '',
    beneficiary: '',
    tonnes: '0',
    timestamp: 0,
    project: { assetId: '', countryCode: '', vintageYear: 0 },
  };
  return (
    <>
      <p class="live" id="live" data-cursor={cursor} data-filter={JSON.stringify(filter)}>
        <span id="live-state">Reload for newer ones</span>
        <span id="live-news" role="status"></span>
      </p>
      <template id="record-template">
        <RecordItem record={blank} />
      </template>
    </>
  );
}

async function searchPage(
  site: Site,
  request: PageRequest,
  overview: Overview,
  text: string,
): Promise<PageAnswer> {
  const found = await search(request.ask, text);
  return htmlAnswer(
    site,
    {
      title: 'Search',
      description: 'Search of the registry',
      path: '/',
      section: 'registry',
      isUnlisted: true,
    },
    <>
      <h1>Search</h1>
      <Search text={text} />
      <Results found={found} text={text} overview={overview} />
    </>,
  );
}

function Results({ found, text, overview }: { found: Found; text: string; overview: Overview }) {
  if (found.records.length + found.assetIds.length === 0) {
    return (
      <p class="empty">
        Nothing was found for “<Foreign text={text} />” among {grouped(String(overview.retirementCount))}{' '}
        retirements and {overview.projects} projects. Names are found in their exact spelling only.
      </p>
    );
  }
  return (
    <>
      {found.assetIds.length === 0 ? null : (
        <section>
          <h2>Project</h2>
          <ul class="plain">
            {found.assetIds.map((assetId) => (
              <li>
                <a href={projectPath(assetId)}>
                  <Foreign text={assetId} />
                </a>
              </li>
            ))}
          </ul>
        </section>
      )}
      {found.records.length === 0 ? null : (
        <section>
          <h2>Retirements</h2>
          <RecordList records={found.records} />
        </section>
      )}
    </>
  );
}
