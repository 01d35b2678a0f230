/**
 * The script that sets GraphiQL's tabs before it starts, by writing to the storage that GraphiQL reads.
 *
 * GraphiQL's own options are not enough: tabs kept from an earlier visit lose their headers or keep that visit's
 * token, and the query that GraphiQL puts into the address opens one more tab on each reload. The user's own
 * tabs, queries and headers are kept.
 */
/** `headers` is the JSON text for the header editor of tabs that have none of their own. */
export function tabsScript(examples: readonly string[], headers: string): string {
  const tabs = examples.map((query, i) => ({
    id: `example-${i + 1}`,
    title: /^(?:query|mutation|subscription) (\w+)/m.exec(query)?.[1] ?? `Example ${i + 1}`,
    query,
    variables: '',
    headers: null,
    operationName: null,
    response: null,
  }));
  return `try {
  const examples = ${asScript({ activeTabIndex: 0, tabs })};
  const headers = ${asScript(headers)};
  const read = (key) => localStorage.getItem('graphiql:' + key);
  const write = (key, value) => localStorage.setItem('graphiql:' + key, value ?? '');
  const kept = JSON.parse(read('tabState') || 'null');
  const state = kept?.tabs?.length > 0 ? kept : examples;
  for (const tab of state.tabs) {
    if (!tab.headers || tab.headers === read('developmentHeaders')) tab.headers = headers;
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
  write('tabState', JSON.stringify(state));
  write('query', active.query);
  write('variables', active.variables);
  write('headers', active.headers);
  write('developmentHeaders', headers);
} catch (error) {
  console.warn('GraphiQL starts without examples:', error);
}`;
}

/** JSON that can't end its own script element. */
function asScript(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', String.raw`\u003c`);
}
