/**
 * `/retirements/:id`: the certificate of one retirement, on screen and on paper.
 */
import type { PageAnswer } from '../http/server/pages.ts';
import type { CertificateRecord, NetworkCheck } from './certificateRecord.ts';
import { originOf, type Inclusion, type InclusionProof } from './inclusion.ts';
import { htmlAnswer } from './layout.tsx';
import { Facts, type Fact } from './parts/facts.tsx';
import { NetworkCheckResult } from './parts/networkCheck.tsx';
import { Code, Foreign, Moment, Name, Place } from './parts/shownText.tsx';
import { QrCode } from './qrCode.tsx';
import { beneficiaryPath, certificatePath, projectPath, publicId } from './records.ts';
import { absolute, type Site } from './site.ts';
import { countryName, dateOf, grouped, MAX_NOTE, periodText, reasonText, shownName } from './text.ts';

export function certificatePage(
  site: Site,
  record: CertificateRecord,
  check: NetworkCheck,
  inclusion: Inclusion,
): PageAnswer {
  const { beneficiary, tonnes, timestamp } = record;
  const path = certificatePath(record);
  const url = absolute(site, path);
  return htmlAnswer(
    site,
    {
      title: `${grouped(tonnes)} t CO₂e retired for ${shownName(beneficiary, 80)}`,
      description: `Certificate of a retirement on ${dateOf(timestamp)}: ${grouped(tonnes)} t CO₂e, for ${shownName(beneficiary, 80)}.`,
      path,
      section: 'registry',
    },
    <article class="certificate-page">
      <header>
        <p class="eyebrow">Certificate of retirement</p>
        <h1>
          <span class="amount">{grouped(tonnes)} t CO₂e</span>
          <span class="for">
            retired for <Name name={beneficiary} max={400} />
          </span>
        </h1>
        <p class="dated">
          <Moment seconds={timestamp} />
        </p>
      </header>
      <NetworkCheckResult check={check} network={site.network.name} />
      <div class="columns">
        <Facts facts={[...factsOfRetirement(record), ...factsOfProject(record)]} />
        <aside aria-label="This certificate elsewhere">
          <QrCode text={url} label={`QR code of this certificate's address, ${url}`} />
          <p class="fine address">{url}</p>
          <ul class="plain actions">
            <li>
              <a href={`${path}.pdf`}>PDF for the archive</a>{' '}
              <span class="fine">PDF/A, with the data attached</span>
            </li>
            <li>
              <a href={`${path}.json`}>Data as JSON</a>
            </li>
            <li>
              <a href={`/verify?q=${encodeURIComponent(publicId(record))}`}>Check it step by step</a>
            </li>
          </ul>
        </aside>
      </div>
      <Proof record={record} />
      <InPublicLog inclusion={inclusion} />
      <Embed url={url} record={record} />
    </article>,
  );
}

function factsOfRetirement(record: CertificateRecord): Fact[] {
  const { beneficiary, beneficiaryId, note, reason, jurisdiction, period, serialRange } = record;
  const page = beneficiaryPath(beneficiary);
  const name = <Name name={beneficiary} max={400} />;
  return [
    ['Beneficiary', page === null ? name : <a href={page}>{name}</a>],
    ['Beneficiary’s public id', beneficiaryId === null ? null : <Foreign text={beneficiaryId} />],
    ['Amount', `${grouped(record.tonnes)} t CO₂e`],
    ['Serial numbers', serialRange === null ? null : <Serials {...serialRange} />],
    ['Retired on', <Moment seconds={record.timestamp} />],
    ['Reason', reason === null ? null : reasonText(reason)],
    ['Claimed in', jurisdiction === null ? null : countryName(jurisdiction)],
    ['For emissions of', period === null ? null : periodText(period)],
    ['Note', note === '' ? null : <Foreign text={note} max={MAX_NOTE} />],
  ];
}

function Serials({ first, last }: { first: string; last: string }) {
  return (
    <>
      <Foreign text={first} max={200} />
      {first === last ? null : (
        <>
          {' to '}
          <Foreign text={last} max={200} />
        </>
      )}
    </>
  );
}

function factsOfProject({ project }: CertificateRecord): Fact[] {
  return [
    [
      'Project',
      <a href={projectPath(project.assetId)}>
        <Foreign text={project.assetId} max={200} />
      </a>,
    ],
    ['Kind', <Foreign text={`${project.projectType}, ${project.creditType}`} />],
    ['Vintage', String(project.vintageYear)],
    ['Place', <Place project={project} />],
  ];
}

/** The facts that the ledger network keeps, for those who check them. */
function Proof({ record }: { record: CertificateRecord }) {
  return (
    <section aria-labelledby="proof-title">
      <h2 id="proof-title">On the ledger network</h2>
      <Facts
        facts={[
          ['Token', <Code text={record.tokenAddress} />],
          ['Record index', String(record.index)],
          ['Transaction', record.txHash === null ? 'Not known yet' : <Code text={record.txHash} />],
          ['Burned from', <Code text={record.retiredBy} />],
          ['Amount in base units', <Code text={record.amount} />],
        ]}
      />
    </section>
  );
}

/** The proof that the retirement is in the public log, and how to check it without this server. */
function InPublicLog({ inclusion }: { inclusion: Inclusion }) {
  return (
    <section aria-labelledby="log-title">
      <h2 id="log-title">In the public log</h2>
      {inclusion.outcome === 'PROVED' ? (
        <InclusionFacts proof={inclusion.proof} />
      ) : (
        <p>{NOT_PROVED[inclusion.outcome]}</p>
      )}
    </section>
  );
}

const NOT_PROVED = {
  NOT_YET:
    'It is not in the log yet, which is a few seconds behind. Reload this page in a moment; the record of the network does not wait for it.',
  NO_ANSWER:
    'The log could not be read. Reload this page in a moment; the record of the network does not depend on it.',
} as const;

function InclusionFacts({ proof }: { proof: InclusionProof }) {
  const { leafIndex, treeSize, rootHash, hashes, checkpoint } = proof;
  return (
    <>
      <p>
        Every retirement is a leaf of a log that can only grow, whose head is signed. The hashes of the proof
        lead from this leaf to the signed root. If the retirement were changed or taken out later, they would
        not any more: keep the JSON file or the PDF, and you can prove that it was here.
      </p>
      <Facts
        facts={[
          ['Log', <Code text={originOf(proof)} />],
          ['Leaf', `${grouped(String(leafIndex))} of ${grouped(String(treeSize))}, from 0`],
          ['Signed root', <Code text={rootHash} />],
        ]}
      />
      <details>
        <summary>The proof, and how to check it without this server</summary>
        <p>
          Get the log’s key once, from a place that you trust (it is at{' '}
          <a href="/logs/retirements/key">/logs/retirements/key</a>), and run the program of this platform’s
          source with the JSON file. It needs Node.js and nothing else, and asks no server:
        </p>
        <pre tabindex={0} aria-label="Command that checks the proof">
          <code>{CHECK_COMMAND}</code>
        </pre>
        <p class="fine">The hashes from the leaf to the root (RFC 9162, SHA-256)</p>
        <pre tabindex={0} aria-label="Hashes from the leaf to the root">
          <code>{hashes.length === 0 ? 'none: the leaf is the only one' : hashes.join('\n')}</code>
        </pre>
        <p class="fine">The signed head</p>
        <pre tabindex={0} aria-label="Signed head of the log">
          <code>{checkpoint}</code>
        </pre>
      </details>
    </>
  );
}

const CHECK_COMMAND = 'node examples/verify-retirement/verifyCertificate.mjs certificate.json "$KEY"';

function Embed({ url, record }: { url: string; record: CertificateRecord }) {
  const code = `<a href="${url}"><img src="${url}/badge.svg" alt="${grouped(record.tonnes)} t CO2e retired" height="28"></a>`;
  return (
    <details class="embed">
      <summary>Show this retirement on another site</summary>
      <p>
        <img
          src={`${certificatePath(record)}/badge.svg`}
          alt={`${grouped(record.tonnes)} t CO₂e retired`}
          height="28"
        />
      </p>
      <pre tabindex={0} aria-label="HTML of the badge">
        <code>{code}</code>
      </pre>
    </details>
  );
}
