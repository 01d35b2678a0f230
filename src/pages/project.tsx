/**
 * `/projects/:assetId`: a project's facts, the distribution of its tonnes, and its retirements and
 * transactions.
 */
import type { PageAnswer, PageRequest } from '../http/server/pages.ts';
import { DomainError } from '../lib/errors.ts';
import { askOrNull } from './ask.ts';
import { htmlAnswer, redirect } from './layout.tsx';
import { Facts } from './parts/facts.tsx';
import { NO_SUCH_LIST, OlderLink, RecordList } from './parts/recordList.tsx';
import { Code, Foreign, Moment, Place, ShortCode } from './parts/shownText.tsx';
import { EMPTY_PAGE, LISTED_RECORD, projectPath, type RecordPage } from './records.ts';
import type { Site } from './site.ts';
import { countryName, grouped, shown } from './text.ts';

interface Project {
  id: string;
  assetId: string;
  state: string;
  creditType: string;
  verificationBodyRef: string;
  vintageYear: number;
  projectType: string;
  projectLocation: string;
  countryCode: string;
  quantityCO2e: string;
  tokenAddress: string | null;
  tokenName: string;
  createdAt: number;
  openedAt: number | null;
  pricePerTonne: { amount: string; currency: string } | null;
  books: { issued: string; inventory: string; heldByBuyers: string; retiring: string; retired: string };
  transactions: Transaction[];
}

interface Transaction {
  kind: string;
  state: string;
  txHash: string;
  signedAt: number;
}

const PROJECT = `query RegistryProject($assetId: String!) {
  projects(first: 1, filter: { assetIds: [$assetId] }) {
    nodes {
      id assetId state creditType verificationBodyRef vintageYear projectType projectLocation countryCode quantityCO2e
      tokenAddress tokenName createdAt openedAt
      pricePerTonne { amount currency }
      books { issued inventory heldByBuyers retiring retired }
      transactions { kind state txHash signedAt }
    }
  }
}`;

const RECORDS = `query RegistryProjectRecords($tokenAddresses: [Address!]!, $after: String) {
  retirementRecords(first: 25, after: $after, filter: { tokenAddresses: $tokenAddresses }) {
    nodes { ...ListedRecord }
    pageInfo { hasNextPage endCursor }
  }
}
${LISTED_RECORD}`;

export async function projectPage(site: Site, request: PageRequest, assetId: string): Promise<PageAnswer> {
  const { ask, query } = request;
  const found = await askOrNull<{ projects: { nodes: Project[] } }>(ask, PROJECT, { assetId });
  const project = found?.projects.nodes[0];
  if (project === undefined) throw new DomainError('NOT_FOUND', 'There is no project with this asset id.');
  const path = projectPath(project.assetId);
  if (project.assetId !== assetId) return redirect(path);
  const tokenAddresses = project.tokenAddress === null ? [] : [project.tokenAddress];
  const variables = { tokenAddresses, after: query.get('after') };
  const answer = await askOrNull<{ retirementRecords: RecordPage }>(ask, RECORDS, variables);
  const records = answer?.retirementRecords ?? EMPTY_PAGE;
  return htmlAnswer(
    site,
    {
      title: `Project ${shown(project.assetId, 80)}`,
      description: `${shown(project.projectType, 60)} in ${countryName(project.countryCode)}: ${grouped(project.quantityCO2e)} t CO₂e of ${project.vintageYear}, ${grouped(project.books.retired)} t of them retired.`,
      path,
      section: 'projects',
      isUnlisted: query.size > 0,
    },
    <article>
      <p class="eyebrow">Project</p>
      <h1>
        <Foreign text={project.assetId} max={200} />
      </h1>
      <p class="intro">
        <Foreign text={project.projectType} /> in <Place project={project} />. Vintage {project.vintageYear}.
      </p>
      <TonnesPicture books={project.books} />
      <section>
        <h2>Facts</h2>
        <ProjectFacts project={project} />
      </section>
      <section>
        <h2>Retirements</h2>
        {records.nodes.length === 0 ? (
          <p class="empty">{answer === null ? NO_SUCH_LIST : 'None yet.'}</p>
        ) : (
          <RecordList records={records.nodes} />
        )}
        <OlderLink page={records} path={path} query={query} />
      </section>
      <Transactions transactions={project.transactions} />
    </article>,
  );
}

const PICTURE_WIDTH = 1000;

/** The distribution of the tonnes as one bar, with its numbers below. */
function TonnesPicture({ books }: Pick<Project, 'books'>) {
  const parts = [
    ['retired', 'Retired', books.retired],
    ['retiring', 'Being retired', books.retiring],
    ['held', 'Held by buyers', books.heldByBuyers],
    ['unsold', 'Unsold', books.inventory],
  ] as const;
  const issued = Number(books.issued);
  let x = 0;
  return (
    <figure class="chart">
      <figcaption>
        <span>{`${grouped(books.issued)} t issued`}</span>
      </figcaption>
      {issued === 0 ? null : (
        <svg class="stack" viewBox={`0 0 ${PICTURE_WIDTH} 10`} preserveAspectRatio="none" aria-hidden="true">
          {parts.map(([name, , tonnes]) => {
            const width = (Number(tonnes) / issued) * PICTURE_WIDTH;
            const begin = x;
            x += width;
            return <rect class={`part-${name}`} x={begin} y="0" width={width} height="10" />;
          })}
        </svg>
      )}
      <dl class="legend">
        {parts.map(([name, label, tonnes]) => (
          <div>
            <dt>
              <i class={`part-${name}`} aria-hidden="true"></i>
              {label}
            </dt>
            <dd>{`${grouped(tonnes)} t`}</dd>
          </div>
        ))}
      </dl>
    </figure>
  );
}

function ProjectFacts({ project }: { project: Project }) {
  const { pricePerTonne: price } = project;
  return (
    <Facts
      facts={[
        ['Verification', <Foreign text={project.verificationBodyRef} max={200} />],
        ['Kind of credit', <Foreign text={project.creditType} />],
        ['Verified quantity', `${grouped(project.quantityCO2e)} t CO₂e`],
        ['Price of a tonne', price === null ? 'Not published' : `${price.amount} ${price.currency}`],
        ['State', STATES[project.state] ?? project.state],
        ['Submitted', <Moment seconds={project.createdAt} />],
        ['Issued', project.openedAt === null ? null : <Moment seconds={project.openedAt} />],
        ['Token', project.tokenAddress === null ? null : <Code text={project.tokenAddress} />],
        ['Token’s name', <Foreign text={project.tokenName} max={200} />],
      ]}
    />
  );
}

const STATES: Readonly<Record<string, string>> = {
  DEPLOYING: 'Its token is being deployed',
  MINTING: 'Its credits are being issued',
  OPEN: 'Issued in full',
  REFUSED: 'Its token was refused; nothing was issued',
  NEEDS_REVIEW: 'An operator has to decide before it goes on',
};

const KINDS: Readonly<Record<string, string>> = {
  DEPLOY_CARBON_CREDIT: 'Deploys the token',
  MINT: 'Issues the credits',
};

function Transactions({ transactions }: { transactions: readonly Transaction[] }) {
  if (transactions.length === 0) return null;
  return (
    <section>
      <h2>Transactions of its token</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">What it does</th>
            <th scope="col">Transaction</th>
            <th scope="col">Signed</th>
          </tr>
        </thead>
        <tbody>
          {transactions.map(({ kind, state, txHash, signedAt }) => (
            <tr>
              <th scope="row">
                {KINDS[kind] ?? kind}
                {state === 'LANDED' ? '' : ` (${state.toLowerCase()})`}
              </th>
              <td>
                <ShortCode text={txHash} />
              </td>
              <td>
                <Moment seconds={signedAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
