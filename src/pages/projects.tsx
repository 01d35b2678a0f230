/**
 * `/projects`: every project whose credits are issued here.
 */
import type { PageAnswer, PageRequest } from '../http/server/pages.ts';
import { askOrNull } from './ask.ts';
import { htmlAnswer } from './layout.tsx';
import type { Overview } from './overview.ts';
import { Filters, placeFilter } from './parts/filters.tsx';
import { NO_SUCH_LIST, OlderLink } from './parts/recordList.tsx';
import { Foreign, Place } from './parts/shownText.tsx';
import { EMPTY_PAGE, projectPath, type Page } from './records.ts';
import type { Site } from './site.ts';
import { grouped } from './text.ts';

const PAGE_SIZE = 25;

interface ListedProject {
  assetId: string;
  projectType: string;
  projectLocation: string;
  countryCode: string;
  quantityCO2e: string;
  books: { retired: string };
}

const LIST = `query RegistryProjects($after: String, $filter: ProjectFilter) {
  projects(first: ${PAGE_SIZE}, after: $after, filter: $filter) {
    nodes { assetId projectType projectLocation countryCode quantityCO2e books { retired } }
    pageInfo { hasNextPage endCursor }
  }
}`;

export async function projectsPage(
  site: Site,
  request: PageRequest,
  overview: Overview,
): Promise<PageAnswer> {
  const { query, ask } = request;
  const variables = { after: query.get('after'), filter: filterIn(query) };
  const answer = await askOrNull<{ projects: Page<ListedProject> }>(ask, LIST, variables);
  const page = answer?.projects ?? EMPTY_PAGE;
  const countries = [...overview.countryCodes, ...page.nodes.map(({ countryCode }) => countryCode)].sort();
  return htmlAnswer(
    site,
    {
      title: 'Projects',
      description: 'Verified projects whose carbon credits are issued on the ledger network.',
      path: '/projects',
      section: 'projects',
      isUnlisted: query.size > 0,
    },
    <>
      <h1>Projects</h1>
      <p class="intro">
        Verified reductions, each issued once as the credits of one token, the newest first.
      </p>
      <Filters
        action="/projects"
        query={query}
        choices={{
          country: countries,
          vintage: overview.projectYears.map(String),
          type: overview.projectTypes,
        }}
      />
      {page.nodes.length === 0 ? (
        <p class="empty">{answer === null ? NO_SUCH_LIST : 'No projects here.'}</p>
      ) : (
        <ol class="records projects">
          {page.nodes.map((project) => (
            <ProjectItem project={project} />
          ))}
        </ol>
      )}
      <OlderLink page={page} path="/projects" query={query} />
    </>,
  );
}

function ProjectItem({ project }: { project: ListedProject }) {
  return (
    <li>
      <p class="tonnes">
        {grouped(project.quantityCO2e)} <abbr title="tonnes of CO₂ equivalent">t</abbr>
      </p>
      <p class="who">
        <a href={projectPath(project.assetId)}>
          <Foreign text={project.assetId} />
        </a>
      </p>
      <p class="what">
        <Foreign text={project.projectType} />, <Place project={project} />
      </p>
      <p class="when">{`${grouped(project.books.retired)} t retired`}</p>
    </li>
  );
}

function filterIn(query: URLSearchParams) {
  const type = query.get('type');
  return { states: ['OPEN'], ...placeFilter(query), ...(type ? { projectTypes: [type] } : {}) };
}
