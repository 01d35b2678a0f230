/**
 * Shows each retirement as it happens, by the protocol graphql-transport-ws. After a broken connection the
 * page continues after the last cursor, so it leaves no record out. The first cursor is from before the list
 * was read, so the page drops records that the list has. The feed refuses a cursor of a history that the
 * database has lost: the page then loads itself again.
 */
import { grouped, isoOf, shown, shownName, timeOf } from './text.js';

(() => {
  const MAX_SHOWN = 100;
  /** The longest wait before the next connection; the first wait is a second. */
  const MAX_WAIT_MS = 30_000;
  const QUERY = `subscription LiveRetirements($after: String!, $filter: RetirementFeedFilter) {
    retirementFeed(after: $after, filter: $filter) { cursor record { index tokenAddress beneficiary tonnes timestamp
      project { assetId countryCode vintageYear } } } }`;
  const live = document.getElementById('live');
  const list = document.getElementById('records');
  const template = document.getElementById('record-template');
  if (!live || !list || !template || !('WebSocket' in window)) return;

  const state = document.getElementById('live-state');
  const news = document.getElementById('live-news');
  const filter = JSON.parse(live.dataset.filter);
  let cursor = live.dataset.cursor;
  let waitMs = 1000;
  let arrived = 0;
  let isRefused = false;

  const show = ({ index, tokenAddress, beneficiary, tonnes, timestamp, project }) => {
    const path = `/retirements/${tokenAddress}-${index}`;
    for (const link of list.querySelectorAll('a.certificate')) {
      if (link.getAttribute('href') === path) return;
    }
    const item = template.content.firstElementChild.cloneNode(true);
    const find = (selector) => item.querySelector(selector);
    find('.amount').textContent = grouped(tonnes);
    find('a.certificate').setAttribute('href', path);
    find('a.certificate bdi').textContent = shownName(beneficiary);
    find('a.project').setAttribute('href', `/projects/${encodeURIComponent(project.assetId)}`);
    find('a.project bdi').textContent = shown(project.assetId);
    find('.origin').textContent = `${project.countryCode} · ${project.vintageYear}`;
    find('time').setAttribute('datetime', isoOf(timestamp));
    find('time').textContent = timeOf(timestamp);
    item.classList.add('fresh');
    list.prepend(item);
    if (list.children.length > MAX_SHOWN) list.lastElementChild.remove();
    document.getElementById('empty').hidden = true;
    arrived += 1;
    news.textContent = `${arrived} new since this page was opened`;
  };

  const showConnection = (isLive) => {
    live.classList.toggle('on', isLive);
    state.textContent = isLive ? 'Live' : 'Connecting again';
  };

  const connect = () => {
    const address = `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/graphql`;
    const socket = new WebSocket(address, 'graphql-transport-ws');
    const send = (message) => socket.send(JSON.stringify(message));
    socket.addEventListener('open', () => send({ type: 'connection_init' }));
    socket.addEventListener('message', ({ data }) => {
      const message = JSON.parse(data);
      if (message.type === 'ping') send({ type: 'pong' });
      if (message.type === 'connection_ack') {
        waitMs = 1000;
        showConnection(true);
        const payload = { query: QUERY, variables: { after: cursor, filter } };
        send({ id: 'retirements', type: 'subscribe', payload });
      }
      if (message.type === 'next' && message.payload.data) {
        const event = message.payload.data.retirementFeed;
        cursor = event.cursor;
        show(event.record);
      }
      if (message.type === 'next' && message.payload.errors?.[0].extensions.code === 'BAD_USER_INPUT')
        isRefused = true;
      if (message.type === 'error' || message.type === 'complete') socket.close();
    });
    socket.addEventListener('close', () => {
      showConnection(false);
      // Jitter, so that the pages do not all connect at once to a restarted server.
      setTimeout(() => (isRefused ? location.reload() : connect()), waitMs * (0.5 + Math.random()));
      waitMs = Math.min(waitMs * 2, MAX_WAIT_MS);
    });
  };

  connect();
})();
