/**
 * Shows whether signing works, and ends a halt.
 */
import { RESUME_SIGNING } from './documents.js';
import { errorText, outcomeText } from './decision.js';
import { age, element, facts, foreign, showItems } from './dom.js';
import { grouped } from '../text.js';

const CONSEQUENCE =
  'Signing goes on, on every instance. What was unsigned stays under review, and is decided one by one. If another program still signs ' +
  'with custody’s key, or the database is an old copy, something may be done twice: be sure that neither is so. Signing goes on by itself ' +
  'once a reconciliation proves that books and network agree.';

export function createSigning({ part, api, decide, refresh }) {
  function ask(signingHaltVersion) {
    decide({
      title: 'Let signing go on',
      consequence: CONSEQUENCE,
      confirm: 'Let signing go on',
      needsReason: true,
      async act(reason) {
        const { resumeSigning } = await api.act(RESUME_SIGNING, {
          input: { signingHaltVersion, reason },
        });
        return outcomeText(resumeSigning, 'Signing goes on.');
      },
      done: refresh,
    });
  }

  return {
    show({ ledgerNetwork, openWork }, errors, isOperator) {
      const ofNetwork = errors.filter(({ rootField }) => rootField === 'ledgerNetwork');
      // The field is also null when it could not be read.
      const isHaltUnread = ofNetwork.some(({ field }) => field === 'signingHaltedBecause');
      const error = ofNetwork.find(({ field }) => field !== 'signingHaltedBecause');
      const because = openWork?.signingHaltedBecause ?? ledgerNetwork?.signingHaltedBecause ?? null;
      const isKnown = because !== null || Boolean(openWork ?? (isHaltUnread ? null : ledgerNetwork));
      // Operators read it with the reason.
      const version = openWork?.signingHaltVersion ?? null;
      const items = [
        // An item of its own, because the ledger changes with each read and its element, with any button, is
        // made anew.
        ...(isKnown ? [{ key: 'halt', because, version, mayResume: isOperator && version !== null }] : []),
        {
          key: 'network',
          network: error ? null : (ledgerNetwork ?? null),
          problem: error ? errorText(error) : '',
        },
      ];
      const itemOf = (item) =>
        item.key === 'halt' ? haltItem(item, () => ask(item.version)) : networkItem(item);
      showItems(part('signing'), items, ({ key }) => key, itemOf);
    },
  };
}

function haltItem({ because, mayResume }, ask) {
  if (because === null) return element('li', {}, element('h3', {}, 'Signing works'));
  const button = element('button', { type: 'button', class: 'quiet', click: ask }, 'Let signing go on …');
  return element(
    'li',
    { class: 'alarm' },
    element('h3', {}, 'Signing is halted'),
    element('p', {}, foreign(because)),
    mayResume ? element('p', { class: 'decisions' }, button) : null,
  );
}

function networkItem({ network, problem }) {
  if (network === null) {
    const text = element('p', { class: 'problem' }, problem);
    return element('li', { class: 'alarm' }, element('h3', {}, 'The network could not be asked'), text);
  }
  return element(
    'li',
    {},
    element('h3', {}, 'Network ', foreign(network.name)),
    facts(
      ['Latest ledger', grouped(String(network.latestLedger))],
      ['Closed', age(network.latestLedgerClosedAt)],
    ),
  );
}
