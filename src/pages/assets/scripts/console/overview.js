/**
 * The numbers at the top: work that needs a decision, overdue work, and the feed's delay.
 */
import { age, element, showItems } from './dom.js';

export function createOverview({ part }) {
  let announced = null;

  /** Screen readers announce a change of these numbers, and nothing else. */
  function announce(needs) {
    const text = needs.map(([, name, count]) => `${name} (${count})`).join(', ');
    if (announced !== null && announced !== text)
      part('news').textContent =
        text === '' ? 'Nothing needs a look any more.' : `Needs a look now: ${text}.`;
    announced = text;
  }

  function item([, name, value, since, isAlarm]) {
    return element(
      'div',
      { class: isAlarm ? 'alarm' : '' },
      element('dt', {}, name),
      element('dd', {}, value),
      since === null ? null : element('dd', { class: 'since' }, 'oldest ', age(since)),
    );
  }

  return {
    show({ openWork: work, stranded, approvalRequests }) {
      if (!work) return;
      const count = (key, name, value, since = null, isAlarm = value > 0) => [
        key,
        name,
        String(value),
        since,
        isAlarm,
      ];
      const needs = [
        count('halt', 'Signing halted', work.signingHaltedBecause === null ? 0 : 1),
        count('review', 'Submissions under review', work.reviewSubmissionCount),
        count('stuck', 'Submissions stuck', work.stuckSubmissionCount, work.oldestStuckAt),
        count('sessions-review', 'Cash-outs under review', work.reviewOffRampSessionCount),
        count('overdue', 'Cash-outs overdue', work.overdueOffRampSessionCount, work.oldestOverdueAt),
        count('expiry', 'Expiry runs overdue', work.overdueExpiryRunCount),
        count('stranded', 'Cash-outs stranded', stranded?.totalCount ?? 0),
        count('approvals', 'Waiting for a second person', approvalRequests?.totalCount ?? 0),
      ];
      announce(needs.filter(([, , , , isAlarm]) => isAlarm));
      const delay = work.feedDelaySeconds;
      showItems(
        part('overview'),
        [
          ...needs.filter(([key]) => key !== 'halt'),
          count('pending', 'Submissions under way', work.pendingSubmissionCount, null, false),
          count('sessions-pending', 'Cash-outs under way', work.pendingOffRampSessionCount, null, false),
          [
            'feed',
            'Feed behind the network',
            delay === null ? '–' : `${Math.max(0, delay)} s`,
            null,
            delay > 120,
          ],
        ],
        ([key]) => key,
        item,
      );
    },
  };
}
