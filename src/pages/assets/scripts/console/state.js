/**
 * Slowly changing state: verdicts of the reconciliations, caps of issuance, log heads, deliveries.
 */
import { WATCH_RETIREMENTS } from './documents.js';
import { errorText } from './decision.js';
import { age, code, element, facts, foreign, showItems } from './dom.js';
import { grouped } from '../text.js';

const VERDICTS = { HOLDS: 'Holds', BROKEN: 'Broken', NOT_PROVED: 'Not proved' };

export function createState({ part, api, decide, refresh }) {
  function show({ invariants, issuanceCaps, transparencyLogs, indexerRegistration }, isOperator) {
    if (transparencyLogs) showItems(part('logs'), transparencyLogs, ({ name }) => name, log);
    if (invariants) showItems(part('invariants'), invariants, ({ invariant }) => invariant, invariantItem);
    if (issuanceCaps) showItems(part('caps'), issuanceCaps.nodes, ({ id }) => id, cap);
    if (isOperator && indexerRegistration !== undefined) {
      showItems(part('registration'), [indexerRegistration], () => 'registration', registration);
    }
  }

  function registration(live) {
    const isCurrent = live?.current === true;
    return element(
      'li',
      { class: isCurrent ? '' : 'alarm' },
      element(
        'h3',
        {},
        live === null
          ? 'Not registered with the indexer'
          : isCurrent
            ? 'Registered with the indexer'
            : 'Registered for another address',
      ),
      live === null
        ? null
        : facts(
            ['Address', foreign(live.url)],
            ['Id there', foreign(live.webhookId)],
            ['Since', age(live.createdAt)],
          ),
      element(
        'p',
        { class: 'decisions' },
        element('button', { type: 'button', class: 'quiet', click: watch }, 'Register anew …'),
      ),
    );
  }

  function watch() {
    decide({
      title: 'Register with the indexer anew',
      consequence:
        'The present address of the retirements hook is registered, and every other registration of this platform is removed at the ' +
        'indexer. Repeating it leaves exactly one.',
      confirm: 'Register anew',
      needsReason: false,
      async act() {
        await api.act(WATCH_RETIREMENTS, {});
        return 'Registered.';
      },
      done: refresh,
    });
  }

  return { show, readDeliveries: () => readDeliveries(part, api) };
}

function invariantItem({
  invariant,
  promise,
  verdict,
  findings,
  notProved,
  agreedAt,
  comparedAt,
  fullyComparedAt,
}) {
  const when = (text, at) => [text, at === null ? 'never' : age(at)];
  const texts = [
    ...findings.map(({ message }) => message),
    ...notProved.map(({ obstacle, message }) => `${obstacle}: ${message}`),
  ];
  return element(
    'li',
    { class: verdict === 'BROKEN' ? 'alarm' : verdict === 'HOLDS' ? '' : 'unsure' },
    element('h3', {}, `${invariant}: ${VERDICTS[verdict] ?? verdict}`),
    element('p', {}, promise),
    element(
      'p',
      { class: 'fine' },
      ...when('Compared ', comparedAt),
      ...when(', all of it ', fullyComparedAt),
      ...when('; agreed last ', agreedAt),
      '.',
    ),
    texts.length === 0
      ? null
      : element('ul', { class: 'plain findings' }, ...texts.map((text) => element('li', {}, foreign(text)))),
  );
}

function cap({ warehouseId, commodityType, limitKg, outstandingKg, setAt, setBy }) {
  const isFull = BigInt(outstandingKg) >= BigInt(limitKg);
  return element(
    'li',
    { class: isFull ? 'alarm' : '' },
    element('h3', {}, foreign(commodityType), ', ', foreign(warehouseId)),
    facts(
      ['Outstanding', `${grouped(outstandingKg)} of ${grouped(limitKg)} kg${isFull ? ': none is left' : ''}`],
      ['Set', [age(setAt), ' by ', foreign(setBy)]],
    ),
  );
}

function log({ name, treeSize, rootHash, updatedAt }) {
  return element(
    'li',
    {},
    element('h3', {}, name),
    facts(['Leaves', grouped(String(treeSize))], ['Root', code(rootHash)], ['Grew last', age(updatedAt)]),
  );
}

const DELIVERY = /^marketplace_webhook_deliveries_total\{([^}]*)\} (\d+)$/gm;
const HOOKS = { retirements: 'Of the indexer', 'payout-settled': 'Of the ramp provider' };

/** Each instance counts for itself: these are the numbers of the instance that answered. */
async function readDeliveries(part, api) {
  let counts;
  try {
    const text = await api.read('/metrics');
    counts = [...text.matchAll(DELIVERY)].map(([, labels, count]) => ({
      hook: /hook="([^"]*)"/.exec(labels)?.[1] ?? '',
      outcome: /outcome="(\w+)"/.exec(labels)?.[1] ?? '',
      count,
    }));
  } catch (error) {
    if (!api.signal.aborted) part('deliveries-state').textContent = errorText(error);
    return;
  }
  part('deliveries-state').textContent =
    counts.length === 0
      ? 'None has come to the instance that answered since it started.'
      : 'At the instance that answered, since it started:';
  showItems(
    part('deliveries'),
    counts,
    ({ hook, outcome }) => `${hook} ${outcome}`,
    ({ hook, outcome, count }) => element('li', {}, `${HOOKS[hook] ?? hook}, ${outcome}: ${grouped(count)}`),
  );
}
