/**
 * Operations that wait for a second person.
 */
import { GRANT_APPROVAL, REFUSE_APPROVAL } from './documents.js';
import { age, code, element, facts, foreign, showItems } from './dom.js';

const OPERATIONS = {
  CREATE_DEPOSIT: 'Issue a receipt',
  CREATE_PROJECT: 'Issue a project’s credits',
  RESOLVE_SUBMISSION_REVIEW: 'Decide a submission under review',
  RESOLVE_OFF_RAMP_SESSION_REVIEW: 'Decide an off-ramp session under review',
  RESUME_SIGNING: 'Let signing go on',
  SET_MANUAL_SESSION_STATUS: 'Set the status of a manual payout',
};

const GRANT =
  'It is done at once, as it stands here, and once only; the audit log names both of you. It can’t be taken back here.';
const REFUSE = 'The request ends, and nothing is done. The operation can be asked for anew.';

export function createApprovals({ part, api, decide, refresh, subject }) {
  function item(request) {
    const { id, operation, requestedBy, requestedAt, expiresAt, input } = request;
    const isOwn = requestedBy === subject;
    const button = (label, click) =>
      element('button', { type: 'button', class: 'quiet', click }, `${label} …`);
    return element(
      'li',
      {},
      element('h3', {}, OPERATIONS[operation] ?? operation),
      facts(
        [
          'Asked for by',
          isOwn ? [foreign(requestedBy), ' (you: another person has to approve it)'] : foreign(requestedBy),
        ],
        ['Asked for', age(requestedAt)],
        ['Expires', age(expiresAt)],
        ...input.map(({ name, value }) => [shownName(name), foreign(value)]),
        ['Id', code(id)],
      ),
      element(
        'p',
        { class: 'decisions' },
        isOwn ? null : button('Approve', () => ask(request, true)),
        button(isOwn ? 'Withdraw' : 'Refuse', () => ask(request, false)),
      ),
    );
  }

  function ask({ id, operation, input }, isGrant) {
    const title = OPERATIONS[operation] ?? operation;
    decide({
      title: `${isGrant ? 'Approve' : 'End the request'}: ${title}`,
      consequence: isGrant ? GRANT : REFUSE,
      confirm: isGrant ? 'Approve' : 'End the request',
      needsReason: !isGrant,
      evidence: async () => facts(...input.map(({ name, value }) => [shownName(name), foreign(value)])),
      async act(reason) {
        if (isGrant) await api.act(GRANT_APPROVAL, { input: { approvalRequestId: id } });
        else await api.act(REFUSE_APPROVAL, { input: { approvalRequestId: id, reason } });
        return isGrant ? 'Approved and done.' : 'The request has ended; nothing was done.';
      },
      done: refresh,
    });
  }

  return {
    show({ approvalRequests }) {
      if (approvalRequests) showItems(part('approvals'), approvalRequests.nodes, ({ id }) => id, item);
    },
  };
}

/** The browser may break `pricePerTonne.amount` at its points. */
function shownName(name) {
  return name.replaceAll('.', '.\u200b');
}
