/**
 * The page in place of one that can't be shown.
 */
import type { PageAnswer, PageFailure } from '../http/server/pages.ts';
import { htmlAnswer } from './layout.tsx';
import type { Site } from './site.ts';
import { shown } from './text.ts';

const TITLES: Readonly<Record<number, string>> = {
  404: 'There is nothing here',
  500: 'A defect in this server',
  503: 'Not available at the moment',
};

const ADVICE: Readonly<Record<number, string>> = {
  404: 'The address may be incomplete. Certificates, projects and beneficiaries can be looked up on the first page.',
  500: 'It is in the log. If it happens again, please report it with the number below.',
  503: 'The registry or its ledger network is busy or being restarted. Nothing is lost. Try again in a minute.',
};

export function errorPage(site: Site, failure: PageFailure): PageAnswer {
  const { status, message, requestId, retryAfterSeconds } = failure;
  const title = TITLES[status] ?? 'This request can’t be answered';
  const answer = htmlAnswer(
    site,
    { title, description: title, path: '/', isUnlisted: true },
    <article class="notice">
      <p class="eyebrow">{status}</p>
      <h1>{title}</h1>
      <p>{shown(message, 300)}</p>
      <p>{ADVICE[status] ?? 'Please go back and try another way.'}</p>
      {retryAfterSeconds === undefined ? null : <p>{`Try again in ${retryAfterSeconds} s.`}</p>}
      <p>
        <a href="/">To the registry</a>
      </p>
      <p class="fine">
        Request <code>{requestId}</code>
      </p>
    </article>,
    status,
  );
  if (retryAfterSeconds === undefined) return answer;
  return { ...answer, headers: { ...answer.headers, 'retry-after': String(retryAfterSeconds) } };
}
