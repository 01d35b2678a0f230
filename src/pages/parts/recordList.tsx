/**
 * A list of retirements, and the link to older ones.
 */
import { certificatePath, projectPath, type ListedRecord, type Page } from '../records.ts';
import { grouped } from '../text.ts';
import { Foreign, Moment, Name } from './shownText.tsx';

export function RecordList({
  records,
  isLive = false,
}: {
  records: readonly ListedRecord[];
  isLive?: boolean;
}) {
  return (
    <ol class="records" {...(isLive ? { id: 'records' } : {})}>
      {records.map((record) => (
        <RecordItem record={record} />
      ))}
    </ol>
  );
}

/** live.js fills a copy of this element, and finds its parts by these classes. */
export function RecordItem({ record }: { record: ListedRecord }) {
  const { project } = record;
  return (
    <li>
      <p class="tonnes">
        <span class="amount">{grouped(record.tonnes)}</span> <abbr title="tonnes of CO₂ equivalent">t</abbr>
      </p>
      <p class="who">
        <a class="certificate" href={certificatePath(record)}>
          <Name name={record.beneficiary} />
        </a>
      </p>
      <p class="what">
        <a class="project" href={projectPath(project.assetId)}>
          <Foreign text={project.assetId} />
        </a>{' '}
        <span class="origin">{`${project.countryCode} · ${project.vintageYear}`}</span>
      </p>
      <p class="when">
        <Moment seconds={record.timestamp} />
      </p>
    </li>
  );
}

/** Shown in place of a list that the API refuses: an empty list would say that there are no items. */
export const NO_SUCH_LIST =
  'This address asks for something to filter by, or a place in the list, that does not exist.';

export function OlderLink({
  page,
  path,
  query,
}: {
  page: Page<unknown>;
  path: string;
  query: URLSearchParams;
}) {
  if (!page.pageInfo.hasNextPage && !query.has('after')) return null;
  const older = new URLSearchParams(query);
  older.set('after', page.pageInfo.endCursor ?? '');
  const newest = new URLSearchParams(query);
  newest.delete('after');
  return (
    <nav class="pager" aria-label="Pages of the list">
      {query.has('after') ? <a href={hrefOf(path, newest)}>Newest</a> : null}
      {page.pageInfo.hasNextPage ? (
        <a rel="next" href={hrefOf(path, older)}>
          Older
        </a>
      ) : null}
    </nav>
  );
}

export function hrefOf(path: string, query: URLSearchParams): string {
  return query.size === 0 ? path : `${path}?${query}`;
}
