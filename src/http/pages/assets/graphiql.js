/**
 * Sets GraphiQL's tabs before it starts, by writing to the storage that it reads, and fills their variables
 * from the answers of the tabs before them.
 *
 * GraphiQL's own options are not enough: tabs kept from an earlier visit lose their headers or keep that
 * visit's tokens, and the query that GraphiQL puts into the address opens one more tab on each reload. The
 * user's own tabs, queries, variables and headers are kept.
 */
(() => {
  const { examples, tokens, roles } = JSON.parse(document.getElementById('examples').textContent);
  const exampleOf = new Map(examples.map((example) => [example.name, example]));
  const read = (key, otherwise) => JSON.parse(localStorage.getItem(`graphiql:${key}`) || 'null') ?? otherwise;
  const write = (key, value) =>
    localStorage.setItem(`graphiql:${key}`, typeof value === 'string' ? value : JSON.stringify(value ?? ''));
  const headersOf = (token) =>
    token === undefined ? '{}' : JSON.stringify({ authorization: `Bearer ${token}` }, null, 2);

  /** Values from earlier answers, by "Operation.field.field". */
  const values = new Map(read('exampleValues', []));
  /** Texts that this script wrote and may replace; all other texts are the user's. */
  const written = new Set(read('exampleVariables', []));
  const MAX_WRITTEN = 200;

  function variablesOf({ variables }) {
    const names = Object.entries(variables);
    if (names.length === 0) return '';
    const filled = names.map(([name, source]) => [
      name,
      values.get(source) ?? `run the tab ${source.split('.', 1)[0]} first`,
    ]);
    const text = JSON.stringify(Object.fromEntries(filled), null, 2);
    written.delete(text);
    written.add(text);
    write('exampleVariables', [...written].slice(-MAX_WRITTEN));
    return text;
  }

  const isOurs = (text) => !text || text === '{}' || written.has(text);
  const nameOf = (query) => /^(?:query|mutation|subscription) (\w+)/m.exec(query ?? '')?.[1];

  function setTabs() {
    const tabs = examples.map((example) => ({
      id: `example-${example.name}`,
      title: example.name,
      query: example.document,
      variables: '',
      headers: headersOf(tokens[example.role]),
      operationName: null,
      response: null,
    }));
    const kept = read('tabState', null);
    const state = kept?.tabs?.length > 0 ? kept : { activeTabIndex: 0, tabs };
    // Headers are found by role. An administrator's token was never kept, so its header stays as it is.
    const former = read('developmentHeaders', {});
    for (const tab of state.tabs) {
      const example = exampleOf.get(nameOf(tab.query));
      if (example && isOurs(tab.variables)) tab.variables = variablesOf(example);
      const role = Object.keys(former).find((name) => former[name] === tab.headers) ?? example?.role;
      if (!tab.headers || tab.headers === former[role]) tab.headers = headersOf(tokens[role]);
    }
    const address = new URL(location.href);
    const asked = address.searchParams.get('query');
    const index = state.tabs.findIndex((tab) => tab.query === asked);
    if (index >= 0) {
      state.activeTabIndex = index;
      address.searchParams.delete('query');
      history.replaceState({}, '', address);
    }
    const active = state.tabs[state.activeTabIndex] ?? state.tabs[0];
    write('tabState', state);
    write('query', active.query);
    write('variables', active.variables);
    write('headers', active.headers);
    write(
      'developmentHeaders',
      Object.fromEntries(Object.keys(tokens).map((role) => [role, headersOf(tokens[role])])),
    );
  }

  /** Keeps the values of an answer that later tabs need. */
  function learn(name, data) {
    for (const source of examples.flatMap(({ variables }) => Object.values(variables))) {
      const [operation, ...path] = source.split('.');
      if (operation !== name) continue;
      const value = path.reduce((object, field) => object?.[field], data);
      if (typeof value === 'string') values.set(source, value);
    }
    write('exampleValues', [...values]);
  }

  /** GraphiQL sends all operations by fetch; a subscription's events are lines "data: …" of one answer. */
  async function listen(name, response) {
    if (response.headers.get('content-type')?.includes('event-stream') !== true) {
      learn(name, (await response.json()).data);
      return;
    }
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ''; ;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split('\n');
      rest = lines.pop();
      for (const line of lines.filter((text) => text.startsWith('data: {'))) {
        learn(name, JSON.parse(line.slice('data: '.length)).data);
      }
    }
  }

  const askServer = window.fetch.bind(window);
  window.fetch = async (...request) => {
    const [address, options] = request;
    const response = await askServer(...request);
    const query =
      typeof options?.body === 'string'
        ? JSON.parse(options.body).query
        : new URL(address, location.href).searchParams.get('query');
    // An answer that was stopped or is no JSON has no values; GraphiQL shows it as it is.
    listen(nameOf(query), response.clone()).catch(() => {});
    return response;
  };

  /** Each of GraphiQL's editors has one text, whatever the tab. */
  const textOf = (file) => window.monaco?.editor.getModels().find(({ uri }) => uri.path.endsWith(`-${file}`));

  function fillVariables() {
    const example = exampleOf.get(nameOf(textOf('operation.graphql')?.getValue()));
    const variables = textOf('variables.json');
    if (!example || !variables || !isOurs(variables.getValue())) return;
    const text = variablesOf(example);
    if (text !== variables.getValue()) variables.setValue(text);
  }

  async function tokenOf(role) {
    if (role !== 'admin') return tokens[role];
    const headers = { accept: 'text/html', 'x-development-token': role };
    const response = await askServer(location.pathname, { headers });
    tokens.admin = (await response.json()).token;
    return tokens.admin;
  }

  function offerTokens() {
    const select = document.getElementById('role');
    const none = 'none (the public)';
    for (const role of [none, ...roles]) select.add(new Option(role, role));
    const show = () => {
      const headers = textOf('request-headers.json')?.getValue();
      const role = Object.keys(tokens).find((name) => headersOf(tokens[name]) === headers);
      select.value = role ?? (/authorization/i.test(headers) ? '' : none);
    };
    const choose = async (role) => {
      textOf('request-headers.json').setValue(headersOf(role === none ? undefined : await tokenOf(role)));
    };
    select.addEventListener('change', () => void choose(select.value));
    textOf('request-headers.json').onDidChangeContent(show);
    document.getElementById('act-as').hidden = false;
    show();
  }

  /** GraphiQL creates its editors some moments after its start. */
  function whenEditorsAreThere(work) {
    const files = ['operation.graphql', 'variables.json', 'request-headers.json'];
    if (files.every(textOf)) work();
    else setTimeout(whenEditorsAreThere, 50, work);
  }

  try {
    setTabs();
  } catch (error) {
    console.warn('GraphiQL starts without examples:', error);
  }
  whenEditorsAreThere(() => {
    // A change of tabs sets one text after the other, so this waits for all of them.
    textOf('operation.graphql').onDidChangeContent(() => setTimeout(fillVariables));
    fillVariables();
    if (roles.length > 0) offerTokens();
  });
})();
