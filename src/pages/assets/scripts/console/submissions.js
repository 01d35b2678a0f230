/**
 * Contract calls on their way to the network: under review, late, and under way.
 */
import { RESOLVE_SUBMISSION_REVIEW, SUBMISSION_DETAILS } from './documents.js';
import { decisionButtons, errorText, outcomeText } from './decision.js';
import { age, code, element, facts, foreign, showItems } from './dom.js';

const KINDS = {
  SET_ALLOWANCE: 'Allow a deposit',
  CONFIRM_OFF_RAMP_SETTLEMENT: 'Release a deposit to the treasury',
  DEPLOY_CARBON_CREDIT: 'Deploy a project’s token',
  DEPLOY_COMMODITY_RECEIPT: 'Deploy a receipt’s token',
  DEPLOY_RAMP_SETTLEMENT: 'Deploy the settlement contract',
  DEPOSIT_OFF_RAMP: 'Deposit receipt tokens',
  MARK_EXPIRED: 'Mark a receipt as expired',
  MINT: 'Mint a token’s whole quantity',
  REFUND_OFF_RAMP: 'Refund a deposit',
  RETIRE: 'Burn credits, and record their retirement',
};

const CAUSES = {
  SIGNING_HALTED: 'Signing was halted before it was signed: it may have been done already.',
  SIGNING_RESUMED:
    'Signing was halted before it was signed, and has gone on since: it may have been done already.',
  FOUND_ON_NETWORK: 'The network shows it done, by a transaction that this platform does not know.',
  UNDETERMINABLE: 'The network no longer has the history that would decide it.',
  ATTEMPTS_DIED: 'Its signed transactions died repeatedly. Remove the cause, then resume.',
  SETTLEMENT_FAILED:
    'The network decided it, but the outcome could not be stored. Remove the cause, then resume.',
  REFUSED: 'It was refused, and no rule says what follows. Correct the setting and resume, or give up.',
};

const DECISIONS = {
  RESUME: {
    label: 'Resume',
    consequence:
      'The platform looks at the network once more and goes on: what is unsigned, or can no longer land, is signed and sent again. ' +
      'If the network shows that it was done already, or signing is halted, this is refused and nothing happens.',
  },
  ADOPT: {
    label: 'Adopt',
    consequence:
      'What the network shows becomes the outcome, and is booked as done by a transaction that this platform did not make. It can’t ' +
      'be taken back. If the network shows nothing, or something else, this is refused and nothing happens.',
  },
  GIVE_UP: {
    label: 'Give up',
    consequence:
      'It ends as refused, and what was reserved for it is returned, such as the credits of a retirement. It is not tried again. While ' +
      'a signed transaction can still land, or if the network shows that it was done, this is refused and nothing happens.',
  },
};

export function createSubmissions({ part, api, decide, refresh }) {
  function ask({ id, kind, reviewVersion }, decision) {
    const { label, consequence } = DECISIONS[decision];
    /** The index of the shown record; no other record is adopted. */
    let recordIndex = null;
    decide({
      title: `${label}: ${KINDS[kind] ?? kind}`,
      consequence,
      confirm: label,
      needsReason: true,
      async evidence() {
        const { data, errors } = await api.ask(SUBMISSION_DETAILS, { id });
        recordIndex = data.submission?.foundOnNetwork?.recordIndex ?? null;
        return details(data.submission, errors);
      },
      async act(reason) {
        const adopted = decision === 'ADOPT' && recordIndex !== null ? { recordIndex } : {};
        const input = { submissionId: id, decision, reviewVersion, reason, ...adopted };
        const { resolveSubmissionReview } = await api.act(RESOLVE_SUBMISSION_REVIEW, { input });
        return outcomeText(
          resolveSubmissionReview,
          `Decided: the submission is ${resolveSubmissionReview.submission.state} now.`,
        );
      },
      done: refresh,
    });
  }

  const show = (name, listed, itemOf) => {
    if (listed) showItems(part(name), listed.nodes, ({ id }) => id, itemOf);
  };
  return {
    show({ review, stuck, pending }) {
      show('review', review, (submission) =>
        itemOf(
          submission,
          decisionButtons(DECISIONS, (decision) => ask(submission, decision)),
        ),
      );
      show('stuck', stuck, (submission) => itemOf(submission));
      show('pending', pending, (submission) => itemOf(submission));
    },
  };
}

function itemOf({ id, kind, signer, state, stateReason, reviewCause, createdAt, dueAt }, buttons = null) {
  return element(
    'li',
    {},
    element('h3', {}, KINDS[kind] ?? kind),
    reviewCause === null ? null : element('p', {}, CAUSES[reviewCause] ?? reviewCause),
    facts(
      ['State', state],
      ['Its last step', stateReason === null ? null : foreign(stateReason)],
      ['Committed', age(createdAt)],
      ['Next step', dueAt === null ? null : age(dueAt)],
      ['Signed by', signer === 'CUSTODY' ? null : 'the holder'],
      ['Id', code(id)],
    ),
    buttons,
  );
}

function details(submission, errors) {
  if (submission === null) return element('p', {}, 'There is no such submission any more.');
  const { foundOnNetwork: found, transactions, target } = submission;
  const hashes = transactions.map(({ state, txHash }) => element('li', {}, `${state} `, code(txHash)));
  return element(
    'div',
    {},
    facts(
      ['What it is for', target === null ? null : targetText(target)],
      [
        'The network shows',
        errors.length > 0
          ? errorText(errors[0])
          : found === null
            ? 'nothing that matches it'
            : foreign(found.evidence),
      ],
      [
        'Is it this call?',
        found === null
          ? null
          : found.adoptable
            ? 'Yes: it can be adopted.'
            : 'Not exactly: it can’t be adopted.',
      ],
      ['Transaction there', found?.txHash ? code(found.txHash) : null],
      ['Signed transactions', hashes.length === 0 ? 'none' : element('ul', { class: 'plain' }, ...hashes)],
    ),
    element('p', { class: 'fine' }, 'That you have read this is in the audit log.'),
  );
}

function targetText({ __typename: type, ...values }) {
  const shown = Object.entries(values)
    .filter(([, value]) => value !== null)
    .flatMap(([name, value], place) => [`${place === 0 ? ': ' : ', '}${name} `, foreign(String(value), 120)]);
  return [type, ...shown];
}
