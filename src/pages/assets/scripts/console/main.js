/**
 * The operator's console: sign-in with a token that is in memory until the page is left, and the parts that
 * the caller's roles may see.
 */
import { ApiError, createApi, readToken } from './api.js';
import { createDecisions, errorText } from './decision.js';
import { VIEWER } from './documents.js';
import { beginSession } from './session.js';

const part = (name) => document.getElementById(name);
const decide = createDecisions(part('decision'), (outcome) => {
  part('outcome').textContent = outcome;
});

/** The session of a token; null without one. */
let session = null;

function showConsole({ subject, roles }, { isOperator, seesCaps, seesSessions }) {
  const mayAsk = { operator: isOperator, caps: seesCaps, sessions: seesSessions };
  for (const section of document.querySelectorAll('[data-for]'))
    section.hidden = !mayAsk[section.dataset.for];
  part('who').textContent = subject;
  part('roles').textContent = roles.join(', ').toLowerCase();
  part('reader-note').hidden = isOperator;
  part('sign-in').hidden = true;
  part('console').hidden = false;
  part('console-title').focus();
}

/** Ends requests under way, and removes all data from the page. */
function forget(because = '') {
  session?.end();
  session = null;
  part('decision').close();
  for (const list of document.querySelectorAll('#console .items, #console .problems, #overview'))
    list.replaceChildren();
  for (const none of document.querySelectorAll('#console .none')) none.hidden = true;
  for (const name of [
    'who',
    'roles',
    'news',
    'outcome',
    'sessions-state',
    'deliveries-state',
    'connection-problem',
    'shown-at',
  ]) {
    part(name).textContent = '';
  }
  part('console').hidden = true;
  part('sign-in').hidden = false;
  part('token').value = '';
  part('sign-in-problem').textContent = because;
}

function accessOf(roles) {
  const isOperator = roles.some((role) => role === 'OPERATOR' || role === 'ADMIN');
  return {
    isOperator,
    seesCaps: isOperator || roles.includes('WAREHOUSE'),
    seesSessions: isOperator || roles.includes('FARMER'),
  };
}

async function signIn() {
  const token = readToken(part('token').value);
  // Cleared before anything can fail, because a browser may keep the content of a field.
  part('token').value = '';
  if (token === null) {
    part('sign-in-problem').textContent =
      'This is no token: it has letters that no token has, or none at all.';
    return;
  }
  part('sign-in-problem').textContent = '';
  part('sign-in-button').disabled = true;
  const api = createApi(token);
  // So that the token is also forgotten when the page is left before the answer.
  session = { end: api.close };
  try {
    const { viewer } = await api.act(VIEWER, {});
    if (api.signal.aborted) return;
    if (viewer === null)
      throw new ApiError({
        message: 'The server knows no caller by this token.',
        extensions: { code: 'UNAUTHENTICATED' },
      });
    const access = accessOf(viewer.roles);
    showConsole(viewer, access);
    session = beginSession({
      api,
      subject: viewer.subject,
      access,
      page: { part, decide },
      refuse: forget,
    });
  } catch (error) {
    if (!api.signal.aborted) forget(errorText(error));
  } finally {
    part('sign-in-button').disabled = false;
  }
}

part('sign-in-form').addEventListener('submit', (event) => {
  event.preventDefault();
  void signIn();
});
part('forget').addEventListener('click', () => {
  forget('The token is forgotten.');
  part('token').focus();
});
// Also for a page that the browser keeps for its back button.
addEventListener('pagehide', () => forget());
part('sign-in-form').hidden = false;
