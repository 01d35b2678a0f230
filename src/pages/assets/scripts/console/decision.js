/**
 * The dialog of every decision: it names the consequence, shows what is known of the target, takes the
 * reason, and shows the server's answer. A decision takes effect once, so it can be repeated when no answer
 * came.
 */
import { ApiError } from './api.js';
import { element } from './dom.js';

const MAX_REASON_BYTES = 512;

/** @param announce shows the outcome */
export function createDecisions(dialog, announce) {
  const find = (selector) => dialog.querySelector(selector);
  const [reason, problem, confirm, evidence] = [
    'textarea',
    '.problem',
    'button[type="submit"]',
    '.evidence',
  ].map(find);
  /** The current decision. The outcome of an earlier one does not change the dialog. */
  let open = null;

  async function decide(asked) {
    const text = reason.value.trim();
    if (asked.needsReason && !isReason(text)) {
      problem.textContent = `A reason is needed, of at most ${MAX_REASON_BYTES} bytes.`;
      reason.focus();
      return;
    }
    confirm.disabled = true;
    confirm.textContent = 'Waiting for the server …';
    problem.textContent = '';
    let failure = '';
    try {
      announce(await asked.act(text));
    } catch (error) {
      failure = problemText(error);
    }
    asked.done();
    if (open !== asked) return;
    confirm.disabled = false;
    confirm.textContent = asked.confirm;
    problem.textContent = failure;
    if (failure === '') dialog.close();
  }

  async function showEvidence(asked) {
    confirm.disabled = true;
    evidence.replaceChildren(element('p', { class: 'fine' }, 'Reading what is known of it …'));
    let shown;
    try {
      shown = await asked.evidence();
    } catch (error) {
      // The decision is possible without the evidence: the server checks it again.
      shown = element('p', { class: 'problem' }, `Not known. ${errorText(error)}`);
    }
    if (open !== asked) return;
    evidence.replaceChildren(shown);
    confirm.disabled = false;
  }

  find('form').addEventListener('submit', (event) => {
    event.preventDefault();
    if (open !== null && !confirm.disabled) void decide(open);
  });
  find('.cancel').addEventListener('click', () => dialog.close());
  dialog.addEventListener('close', () => {
    open = null;
    evidence.replaceChildren();
  });

  /** @param asked title, consequence, confirm (the button), needsReason, act(reason), done(), evidence?() */
  return function ask(asked) {
    open = asked;
    show(find, asked);
    [reason.value, problem.textContent, confirm.disabled] = ['', '', false];
    dialog.showModal();
    if (asked.evidence) void showEvidence(asked);
  };
}

function show(find, { title, consequence, confirm, needsReason }) {
  find('h2').textContent = title;
  find('.consequence').textContent = consequence;
  find('button[type="submit"]').textContent = confirm;
  find('.reason').hidden = !needsReason;
}

/** One button for each decision. */
export function decisionButtons(decisions, ask) {
  const made = Object.entries(decisions).map(([decision, { label }]) =>
    element('button', { type: 'button', class: 'quiet', click: () => ask(decision) }, `${label} …`),
  );
  return element('p', { class: 'decisions' }, ...made);
}

function isReason(text) {
  return text !== '' && new TextEncoder().encode(text).length <= MAX_REASON_BYTES;
}

function problemText(error) {
  if (error instanceof ApiError) return errorText(error);
  return (
    `${errorText(error)} It may have been done, or not. To try again is safe: a decision takes effect once, and a repetition of ` +
    'one that was made is answered with CONFLICT.'
  );
}

/** The text of the server's error, or that no answer came. */
export function errorText(error) {
  return error instanceof ApiError ? `${error.code}: ${error.message}` : `No answer came (${error.message}).`;
}

/** The outcome of a mutation that may need another person's approval. */
export function outcomeText({ approvalRequest }, done) {
  return approvalRequest === null
    ? done
    : 'Not done yet: another person has to approve it. It is listed under “Waiting for a second person”.';
}
