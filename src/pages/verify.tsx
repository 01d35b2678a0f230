/**
 * `/verify`: checks a certificate's file, id, serial number or transaction hash, and explains each step of
 * the check.
 */
import type { PageAnswer, PageRequest } from '../http/server/pages.ts';
import { askedCertificate, checkCertificate, type Checked, type Step } from './checkCertificate.ts';
import { htmlAnswer } from './layout.tsx';
import { Name } from './parts/shownText.tsx';
import { certificatePath } from './records.ts';
import type { Site } from './site.ts';
import { grouped, shown } from './text.ts';

export async function verifyPage(site: Site, request: PageRequest): Promise<PageAnswer> {
  const given = (request.form.get('certificate') ?? request.query.get('q') ?? '').trim();
  const checked = given === '' ? null : await checkCertificate(site, request.ask, askedCertificate(given));
  return htmlAnswer(
    site,
    {
      title: 'Verify a certificate',
      description: 'Check a retirement certificate against the ledger network, step by step.',
      path: '/verify',
      section: 'verify',
      script: 'verify.js',
      isUnlisted: given !== '',
    },
    <article>
      <h1>Verify a certificate</h1>
      {checked === null ? (
        <p class="intro">
          Paste the JSON file of a certificate, its address or id, a serial number or a transaction hash. It
          is compared with what the token’s own record on the ledger network says now.
        </p>
      ) : (
        <Outcome site={site} checked={checked} />
      )}
      <Form given={checked === null ? '' : given} />
    </article>,
  );
}

function Form({ given }: { given: string }) {
  return (
    <form class="verify" method="post" action="/verify">
      <label for="certificate">Certificate</label>
      <textarea id="certificate" name="certificate" required spellcheck={false} maxlength={20_000}>
        {shown(given, 20_000).replaceAll('\u{fffd}', ' ')}
      </textarea>
      <p hidden>
        <label for="file">or choose its file</label>
        <input id="file" type="file" accept="application/json,.json" />
      </p>
      <p class="row">
        <button type="submit">Check</button>
      </p>
    </form>
  );
}

function Outcome({ site, checked }: { site: Site; checked: Checked }) {
  const { steps, record } = checked;
  const isSound = steps.every(({ outcome }) => outcome === 'PASSED');
  const hasFailed = steps.some(({ outcome }) => outcome === 'FAILED');
  return (
    <>
      <div class={`result ${isSound ? 'good' : hasFailed ? 'bad' : 'open'}`}>
        <h2>
          {isSound
            ? 'This certificate holds'
            : hasFailed
              ? 'This certificate does not hold'
              : 'Not fully checked'}
        </h2>
        <p>
          {record === null ? (
            `The step ${hasFailed ? 'that failed' : 'below'} says why.`
          ) : (
            <>
              {`${grouped(record.tonnes)} t CO₂e for `}
              <Name name={record.beneficiary} />. <a href={certificatePath(record)}>The certificate</a>
            </>
          )}
        </p>
      </div>
      <ol class="steps">
        {steps.map((step) => (
          <StepItem step={step} />
        ))}
      </ol>
      {record === null ? null : <WithoutThisServer site={site} record={record} />}
    </>
  );
}

const RESULTS = { PASSED: 'Yes.', FAILED: 'No.', OPEN: 'Could not be checked.' } as const;

function StepItem({ step }: { step: Step }) {
  return (
    <li class={step.outcome === 'FAILED' ? 'failed' : ''}>
      <div>
        <h3>{step.question}</h3>
        <p>
          <span class="outcome">{RESULTS[step.outcome]}</span> {step.explanation}
        </p>
      </div>
    </li>
  );
}

const ASK_A_NODE =
  'Ask a node of the network that you trust, your own or a provider’s, and compare what it says with the certificate. ' +
  'The commands are those of the network’s own tools; RPC_URL is the address of the node.';
const NO_NODES =
  'This server runs on a network of its own, which is for trying out: it is no public ledger, and has no nodes of ' +
  'others that could be asked. On a real network the commands to do so stand here.';

function WithoutThisServer({ site, record }: { site: Site; record: NonNullable<Checked['record']> }) {
  const commands = site.recordCommands?.(record) ?? null;
  return (
    <section aria-labelledby="own-title">
      <h2 id="own-title">Check it without this server</h2>
      <p>{commands === null ? NO_NODES : ASK_A_NODE}</p>
      {commands?.map(({ what, command }) => (
        <>
          <p class="fine">{what}</p>
          <pre tabindex={0} aria-label={what}>
            <code>{command}</code>
          </pre>
        </>
      ))}
    </section>
  );
}
