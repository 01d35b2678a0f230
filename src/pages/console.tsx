/**
 * `/console`: the page that operators sign in to. It is the same for everyone and contains no data: its
 * scripts ask the GraphQL API with the entered token, and keep the token only in memory.
 */
import type { Child } from 'hono/jsx';
import type { PageAnswer } from '../http/server/pages.ts';
import { htmlAnswer } from './layout.tsx';
import type { Site } from './site.ts';

export function consolePage(site: Site): PageAnswer {
  return htmlAnswer(
    site,
    {
      title: 'Operator’s console',
      description: 'What is under way, stuck or under review, for those who run the platform.',
      path: '/console',
      script: 'console/main.js',
      isUnlisted: true,
    },
    <>
      <SignIn />
      <div id="console" hidden>
        <Head />
        <Sections />
      </div>
      <DecisionDialog />
    </>,
  );
}

/**
 * The field has no name, so that a form sent without the script has no token in its address. It is not a
 * password field, because browsers would offer to store the token.
 */
function SignIn() {
  return (
    <section id="sign-in" aria-labelledby="sign-in-title">
      <h1 id="sign-in-title">Operator’s console</h1>
      <p class="intro">
        For those who run the platform. Sign in with a bearer token. It is kept in the memory of this page
        alone, and forgotten when the page is left.
      </p>
      <noscript>
        <p>The console needs scripts: the token is not sent to the server by a form.</p>
      </noscript>
      <form id="sign-in-form" method="post" action="/console" hidden>
        <label for="token">Bearer token</label>
        <div class="row">
          <input
            id="token"
            class="secret"
            type="text"
            autocomplete="off"
            autocapitalize="off"
            autocorrect="off"
            spellcheck={false}
            aria-describedby="sign-in-problem"
            required
          />
          <button type="submit" id="sign-in-button">
            Sign in
          </button>
        </div>
      </form>
      <p id="sign-in-problem" class="problem" role="alert"></p>
    </section>
  );
}

function Head() {
  return (
    <header class="console-head">
      <h1 id="console-title" tabindex={-1}>
        Operator’s console
      </h1>
      <div class="listhead">
        <p>
          <bdi id="who" class="foreign"></bdi> (<span id="roles"></span>)
        </p>
        <button type="button" class="quiet" id="forget">
          Forget the token
        </button>
      </div>
      <p id="connection" class="fine">
        <span id="shown-at"></span> <span id="connection-problem" class="problem" role="status"></span>
      </p>
      <p id="outcome" role="status"></p>
      <p id="news" role="status"></p>
      <ul id="work-problems" class="plain problem problems" aria-label="What could not be read"></ul>
      <p id="reader-note" class="intro">
        Your roles see a part of this page, and decide nothing here. Operators see all of it.
      </p>
      <section data-for="operator" aria-label="In numbers">
        <dl id="overview" class="totals"></dl>
      </section>
    </header>
  );
}

type Audience = 'operator' | 'caps' | 'sessions';

function Sections() {
  return (
    <>
      <Part id="signing" title="Signing" />
      <Part id="review" title="Submissions under review" audience="operator">
        Contract calls that no rule decides. What was reserved for them stays reserved. At most 20 are shown,
        the oldest first.
      </Part>
      <Part id="approvals" title="Waiting for a second person" audience="operator">
        Nothing is done until another person than the one who asked approves it. At most 20 are shown, the
        newest first.
      </Part>
      <Part id="sessions" title="Off-ramp sessions" audience="sessions" isSilent>
        Those under review, overdue, or stranded at a provider that is no longer the configured one. Reading
        those of others leaves an entry in the audit log, so they are read when you ask for them.
        <p class="decisions">
          <button type="button" class="quiet" id="sessions-read">
            Read them now
          </button>{' '}
          <span id="sessions-state" class="fine" role="status"></span>
        </p>
      </Part>
      <Part id="stuck" title="Submissions stuck" audience="operator">
        Under way for longer than the network needs. They go on by themselves once the cause is gone.
      </Part>
      <Part id="pending" title="Submissions under way" audience="operator">
        At most 20 are shown, the oldest first.
      </Part>
      <Part id="invariants" title="Reconciliation" audience="operator">
        What the last reconciliations say of each invariant.
        <ul id="state-problems" class="plain problem problems" aria-label="What could not be read"></ul>
      </Part>
      <Part id="caps" title="Caps of issuance" audience="caps">
        The most that receipts of a warehouse may have outstanding. At most 100 are shown.
      </Part>
      <Part id="logs" title="Transparency logs">
        How far each log has grown. They are one to four seconds behind what is committed.
      </Part>
      <Part id="registration" title="Deliveries" audience="operator" isSilent>
        Where the indexer delivers retirements to, and what became of deliveries. Without them the feed is
        slower, not incomplete.
        <p id="deliveries-state" class="fine"></p>
        <ul id="deliveries" class="plain items" aria-label="Deliveries by outcome"></ul>
      </Part>
    </>
  );
}

/** A list that the scripts fill. Lists for other roles than the caller's stay hidden. */
function Part({
  id,
  title,
  audience,
  isSilent = false,
  children,
}: {
  id: string;
  title: string;
  audience?: Audience;
  /** Shows nothing when it is empty: another element says so. */
  isSilent?: boolean;
  children?: Child;
}) {
  return (
    <section
      aria-labelledby={`${id}-title`}
      {...(audience === undefined ? {} : { 'data-for': audience, hidden: true })}
    >
      <h2 id={`${id}-title`}>{title}</h2>
      {children === undefined ? null : <div class="fine">{children}</div>}
      <ul id={id} class="items cards" aria-labelledby={`${id}-title`} tabindex={-1}></ul>
      {isSilent ? null : (
        <p class="none" hidden>
          None.
        </p>
      )}
    </section>
  );
}

function DecisionDialog() {
  return (
    <dialog id="decision" aria-labelledby="decision-title" aria-describedby="decision-consequence">
      <form>
        <h2 id="decision-title"></h2>
        <p id="decision-consequence" class="consequence"></p>
        <div class="evidence" aria-live="polite"></div>
        <div class="reason">
          <label for="reason">Reason, kept with the decision</label>
          <textarea id="reason" maxlength={512}></textarea>
        </div>
        <p class="problem" role="alert"></p>
        <p class="decisions">
          <button type="submit">Confirm</button>
          <button type="button" class="quiet cancel">
            Do nothing
          </button>
        </p>
      </form>
    </dialog>
  );
}
