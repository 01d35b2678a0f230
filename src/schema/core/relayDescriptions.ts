/**
 * Descriptions of the Relay plugin's types and fields: connections, edges, page information and global ids.
 */

const cursorType = 'String' as const;

export const relayDescriptions = {
  cursorType,
  clientMutationId: 'omit',
  nodeTypeOptions: { description: 'An object with a global id.' },
  idFieldOptions: { description: 'Opaque global id, unique over all types. `node(id:)` returns the object.' },
  nodeQueryOptions: {
    description:
      'The object with this id, or null when it does not exist or the caller may not see it.\n\nPublic: needs no token for ' +
      'projects and retirement records; the description of each other type says whom it is visible to.',
    authScopes: { public: true },
    args: { id: { description: 'The global id of an object.' } },
  },
  // Clients read several nodes with aliases, and the cost of each is counted.
  nodesQueryOptions: false,
  pageInfoTypeOptions: { description: 'Where a page lies in its list.' },
  hasNextPageFieldOptions: {
    description: 'Whether items follow this page, when paging with `first`.',
  },
  hasPreviousPageFieldOptions: {
    description: 'Whether items precede this page, when paging with `last`.',
  },
  startCursorFieldOptions: {
    description:
      'The cursor of the first item of this page: `before` for the one before it. Without items it is what `before` was, or null.',
  },
  endCursorFieldOptions: {
    description:
      'The cursor of the last item of this page: `after` for the next one. Without items it is what `after` was, or null.',
  },
  cursorFieldOptions: {
    description: 'Opaque. Pass it as `after` or `before` to continue the list from here.',
  },
  nodeFieldOptions: { description: 'The item.', nullable: false },
  edgesFieldOptions: {
    description:
      'The items of this page, in order, each with its cursor. Without the cursors, `nodes` is shorter.',
    nullable: false,
  },
  nodesOnConnection: {
    description: 'The items of this page, in order. `pageInfo` has the cursors to go on.',
  },
  pageInfoFieldOptions: { description: 'Whether and where the list continues.' },
  firstArgOptions: {
    description: 'Items from the start of the list, or after `after`: 1 to 100. 20 without this and `last`.',
  },
  lastArgOptions: {
    description: 'Items from the end of the list, or before `before`: 1 to 100. Not together with `first`.',
  },
  afterArgOptions: { description: 'Only items after this cursor.' },
  beforeArgOptions: { description: 'Only items before this cursor.' },
  defaultConnectionTypeOptions: { description: 'One page of a list.' },
  defaultEdgeTypeOptions: { description: 'One item of a list, with its cursor.' },
} as const;
