/**
 * Off-ramp sessions that wait for a decision, are overdue, or wait for a provider that is no longer
 * configured. They are others' data, so the console reads them on the operator's request only.
 */
import { RESOLVE_OFF_RAMP_SESSION_REVIEW, SESSIONS } from './documents.js';
import { decisionButtons, errorText, outcomeText } from './decision.js';
import { age, code, element, facts, foreign, showItems } from './dom.js';
import { grouped } from '../text.js';

const DECISIONS = {
  RETRY: {
    label: 'Retry',
    consequence:
      'The cash-out goes on from where it stood: what is unsigned is signed again, and the provider is asked again.',
  },
  CONFIRM: {
    label: 'Release to the treasury',
    consequence:
      'The deposited tokens are released to the treasury, as after a payout. The farmer does not get them back. Decide it only when ' +
      'the provider has paid.',
  },
  REFUND: {
    label: 'Refund',
    consequence:
      'The deposited tokens are refunded to the depositor. Decide it only when the provider has not paid, and will not: otherwise the ' +
      'farmer has both.',
  },
  ACCEPT: {
    label: 'Accept what the network shows',
    consequence:
      'The session ends as the network shows it: released, refunded, or never deposited. If it shows none of these, this is refused ' +
      'and nothing happens.',
  },
};

const KINDS = [
  ['review', 'Under review'],
  ['overdue', 'Overdue'],
  ['stranded', 'Stranded: its provider is not the configured one'],
];

export function createSessions({ part, api, decide, refresh }) {
  let isOperator = false;

  async function read() {
    const [button, state] = [part('sessions-read'), part('sessions-state')];
    button.disabled = true;
    try {
      const { data, errors } = await api.ask(SESSIONS);
      if (errors.length > 0) throw errors[0];
      const count = show(data);
      state.replaceChildren(
        count === 0 ? 'There are none. Read ' : `${count} shown, read `,
        age(api.nowSeconds()),
        '.',
      );
    } catch (error) {
      // After the token is forgotten, nothing is shown.
      if (!api.signal.aborted) state.textContent = errorText(error);
    }
    button.disabled = false;
  }

  function show(data) {
    // A session that is both under review and stranded is shown once.
    const seen = new Set();
    const sessions = KINDS.flatMap(([kind, title]) =>
      data[kind].nodes
        .filter(({ id }) => !seen.has(id) && seen.add(id))
        .map((session) => ({ title, ...session, mayDecide: isOperator && kind !== 'overdue' })),
    );
    const itemOf = (session) =>
      sessionItem(
        session,
        decisionButtons(DECISIONS, (decision) => ask(session, decision)),
      );
    showItems(part('sessions'), sessions, ({ id }) => id, itemOf);
    return sessions.length;
  }

  function ask({ id, reviewVersion }, decision) {
    const { label, consequence } = DECISIONS[decision];
    decide({
      title: `${label}: off-ramp session`,
      consequence,
      confirm: label,
      needsReason: true,
      async act(reason) {
        const input = { offRampSessionId: id, decision, reviewVersion, reason };
        const { resolveOffRampSessionReview: answer } = await api.act(RESOLVE_OFF_RAMP_SESSION_REVIEW, {
          input,
        });
        return outcomeText(answer, `Decided: the session is ${answer.offRampSession.state} now.`);
      },
      done() {
        refresh();
        void read();
      },
    });
  }

  part('sessions-read').addEventListener('click', () => void read(), { signal: api.signal });
  return {
    /** @param mayDecide whether the caller may decide the sessions under review or stranded */
    begin(mayDecide) {
      isOperator = mayDecide;
    },
  };
}

function sessionItem(session, buttons) {
  const { id, title, state, stateReason, rampProvider, sessionId, providerStatus, exposed, createdAt } =
    session;
  const providerName = session.rampProviderName;
  const review = session.reviews.findLast(({ closedAt }) => closedAt === null);
  return element(
    'li',
    { class: 'alarm' },
    element('h3', {}, title),
    exposed
      ? element('p', { class: 'alarm' }, 'The provider has paid, and the tokens are not deposited.')
      : null,
    facts(
      ['State', state],
      ['Why', review ? foreign(review.flaggedBecause) : null],
      ['Before the review', review?.stateBefore ?? null],
      ['Reason', stateReason === null ? null : foreign(stateReason)],
      [
        'Provider',
        [
          rampProvider,
          ...(providerName === null ? [] : [' ', foreign(providerName)]),
          `, ${providerStatus ?? 'status not known'}`,
        ],
      ],
      ['Its id there', sessionId === null ? null : foreign(sessionId)],
      [
        'Tokens',
        `${grouped(session.tokenAmount)} kg for ${grouped(session.payout.amount)} ${session.payout.currency}`,
      ],
      ['Farmer', session.farmerId === null ? null : foreign(session.farmerId)],
      ['Requested', age(createdAt)],
      ['Id', code(id)],
    ),
    session.mayDecide ? buttons : null,
  );
}
