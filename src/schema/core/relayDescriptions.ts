/**
 * Descriptions of the Relay plugin's types and fields: connections, edges, page information and global ids.
 */

export const relayDescriptions = {
  cursorType: 'String',
  clientMutationId: 'omit',
  nodeTypeOptions: { description: 'An object with a global id.' },
  idFieldOptions: {
    description: 'The opaque global id, unique across all types. `node(id:)` returns the object.',
  },
  nodeQueryOptions: {
    description:
      'The object with this id. Null when the object does not exist or the caller may not see it.\n\nPublic: needs ' +
      'no token for projects and retirement records. The description of each other type says who may see it.',
    authScopes: { public: true },
    args: { id: { description: 'The global id of an object.' } },
  },
  // Clients read several nodes with aliases, and the cost of each is counted.
  nodesQueryOptions: false,
  pageInfoTypeOptions: { description: 'The position of a page in its list.' },
  hasNextPageFieldOptions: {
    description: 'Whether more items follow this page, when paginating with `first`.',
  },
  hasPreviousPageFieldOptions: {
    description: 'Whether more items precede this page, when paginating with `last`.',
  },
  startCursorFieldOptions: {
    description:
      'The cursor of the first item of this page. Pass it as `before` to get the previous page. On an empty page, ' +
      'the value of `before`, or null.',
  },
  endCursorFieldOptions: {
    description:
      'The cursor of the last item of this page. Pass it as `after` to get the next page. On an empty page, the ' +
      'value of `after`, or null.',
  },
  cursorFieldOptions: {
    description: 'An opaque cursor. Pass it as `after` or `before` to continue the list from this item.',
  },
  nodeFieldOptions: { description: 'The item.', nullable: false },
  edgesFieldOptions: {
    description:
      'The items of this page, in order, each with its cursor. `nodes` is shorter when cursors are not needed.',
    nullable: false,
  },
  nodesOnConnection: {
    description: 'The items of this page, in order. `pageInfo` has the cursors of the page.',
  },
  pageInfoFieldOptions: {
    description: 'The position of this page in the list.',
  },
  firstArgOptions: {
    description:
      'The number of items from the start of the list, or after `after`: 1 to 100. Defaults to 20 unless `last` is given.',
  },
  lastArgOptions: {
    description:
      'The number of items from the end of the list, or before `before`: 1 to 100. Not allowed with `first`.',
  },
  afterArgOptions: { description: 'Only items after this cursor.' },
  beforeArgOptions: { description: 'Only items before this cursor.' },
  defaultConnectionTypeOptions: { description: 'One page of a list.' },
  defaultEdgeTypeOptions: { description: 'One item of a list, with its cursor.' },
} as const;
