/**
 * The reads and parts of the page for one token, until the session ends.
 */
import { createApprovals } from './approvals.js';
import { errorText } from './decision.js';
import { STATE, WORK } from './documents.js';
import { element, showAges } from './dom.js';
import { createOverview } from './overview.js';
import { createPoller } from './poller.js';
import { createSessions } from './sessions.js';
import { createSigning } from './signing.js';
import { createState } from './state.js';
import { createSubmissions } from './submissions.js';

const WORK_EVERY_MS = 5_000;
const STATE_EVERY_MS = 30_000;

/**
 * @param page part(id) and decide(asked) of the page
 * @param refuse is called when the token is no longer accepted
 */
export function beginSession({ api, subject, access, page, refuse }) {
  const { isOperator, seesCaps } = access;
  const { part } = page;
  let shownAt = null;
  const refresh = () => {
    void work.run();
    void state.run();
  };
  const parts = createParts({ ...page, api, subject, refresh });

  async function lookAtWork() {
    const { data, errors } = await api.ask(WORK, { isOperator });
    // A late answer for an earlier caller is not shown.
    if (api.signal.aborted) return;
    parts.overview.show(data);
    parts.signing.show(data, errors, isOperator);
    parts.submissions.show(data);
    parts.approvals.show(data);
    // The signing part shows the errors of the network's node.
    const ofOthers = errors.filter(
      ({ rootField, field }) => rootField !== 'ledgerNetwork' || field === 'signingHaltedBecause',
    );
    showErrors(part('work-problems'), ofOthers);
    shownAt = api.nowSeconds();
  }

  async function lookAtState() {
    const { data, errors } = await api.ask(STATE, { isOperator, seesCaps });
    if (api.signal.aborted) return;
    parts.state.show(data, isOperator);
    showErrors(part('state-problems'), errors);
    if (isOperator) await parts.state.readDeliveries();
  }

  function report(error, waitMs) {
    if (api.signal.aborted) return;
    if (error?.code === 'UNAUTHENTICATED') refuse(`The token is no longer accepted. ${errorText(error)}`);
    else showConnection(part, error, waitMs);
  }

  const work = createPoller({ everyMs: WORK_EVERY_MS, work: lookAtWork, report });
  // The other poller reports a lost connection.
  const state = createPoller({ everyMs: STATE_EVERY_MS, work: lookAtState, report: () => {} });
  const ticking = setInterval(() => {
    const now = api.nowSeconds();
    showAges(document, now);
    part('shown-at').textContent =
      shownAt === null ? 'Reading …' : `Read ${Math.max(0, now - shownAt)} s ago.`;
  }, 1_000);
  parts.sessions.begin(isOperator);
  refresh();
  return {
    end() {
      work.stop();
      state.stop();
      clearInterval(ticking);
      api.close();
    },
  };
}

function createParts(services) {
  return {
    overview: createOverview(services),
    signing: createSigning(services),
    submissions: createSubmissions(services),
    sessions: createSessions(services),
    approvals: createApprovals(services),
    state: createState(services),
  };
}

function showConnection(part, error, waitMs) {
  part('connection').classList.toggle('lost', error !== null);
  const seconds = Math.ceil(waitMs / 1000);
  const text = error === null ? '' : `${errorText(error)} What is shown is old. Next try in ${seconds} s.`;
  part('connection-problem').textContent = text;
}

/** Unchanged errors stay as they are, so that screen readers read them once. */
function showErrors(list, errors) {
  const texts = errors.map((error) => `${error.rootField ?? 'The operation'}: ${errorText(error)}`);
  if (texts.join('\n') === [...list.children].map(({ textContent }) => textContent).join('\n')) return;
  list.replaceChildren(...texts.map((text) => element('li', {}, text)));
}
