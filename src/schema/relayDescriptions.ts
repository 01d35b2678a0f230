/**
 * Words for what the Relay plugin generates: connections, edges, page information and global ids.
 */

const cursorType = 'String' as const;

export const relayDescriptions = {
  cursorType,
  clientMutationId: 'omit',
  nodeTypeOptions: { description: 'Anything that has an id of its own and can be looked up by it.' },
  idFieldOptions: { description: 'Opaque, and unique over all types. `node(id:)` finds it again.' },
  nodeQueryOptions: {
    description:
      'What an id stands for, or null when there is nothing that the caller may know of.\n\nFor everybody; ' +
      "what belongs to a buyer is found by that buyer's and an operator's token alone.",
    authScopes: { public: true },
    args: { id: { description: 'The `id` of anything.' } },
  },
  // Several at a time are asked for with aliases, which count as what they cost.
  nodesQueryOptions: false,
  pageInfoTypeOptions: { description: 'Where a page of a list stands in the whole.' },
  hasNextPageFieldOptions: {
    description: 'Whether there is more after this page, when paging with `first`.',
  },
  hasPreviousPageFieldOptions: {
    description: 'Whether there is more before this page, when paging with `last`.',
  },
  startCursorFieldOptions: { description: 'The cursor of the first item of this page.' },
  endCursorFieldOptions: {
    description: 'The cursor of the last item of this page: `after` for the next one.',
  },
  cursorFieldOptions: { description: 'Opaque; `after` or `before` continue the list from here.' },
  nodeFieldOptions: { description: 'The item itself.', nullable: false },
  edgesFieldOptions: { description: 'The items of this page, in order.', nullable: false },
  pageInfoFieldOptions: { description: 'Whether and where the list goes on.' },
  firstArgOptions: {
    description: 'Items from the start of the list, or after `after`: 1 to 100. This or `last` is required.',
  },
  lastArgOptions: {
    description: 'Items from the end of the list, or before `before`: 1 to 100. This or `first` is required.',
  },
  afterArgOptions: { description: 'Only what comes after this cursor.' },
  beforeArgOptions: { description: 'Only what comes before this cursor.' },
  defaultConnectionTypeOptions: { description: 'One page of a list.' },
  defaultEdgeTypeOptions: { description: 'One item of a list, with its place in it.' },
} as const;
