/**
 * Lists of Query that have a filter: `addList('apiKeys', ApiKeyRef, { ...forRoles(…), …, list: listApiKeys })`.
 */
import type { InputRef, ObjectRef } from '@pothos/core';
import type { KeysetCursor, PageSource } from '../../db/keyset.ts';
import type { Caller } from '../../identity/roles.ts';
import type { Dependencies } from '../../resolvers/core/dependencies.ts';
import type { forRoles } from './access.ts';
import { builder, type ContractTypes } from './builder.ts';
import { filterOf } from './filters.ts';
import { keysetCursors, listNames, pageOf } from './paging.ts';

type List<Row, Filter> = ReturnType<typeof forRoles> & {
  filter: InputRef<Filter>;
  /** The description of the argument `filter`. */
  filtered: string;
  list(deps: Dependencies, filter: Partial<Filter>, caller: Caller | null): PageSource<Row, KeysetCursor>;
};

export function addList<Row, Filter>(
  name: string,
  type: ObjectRef<ContractTypes, Row>,
  { filter, filtered, list, ...rule }: List<Row, Filter>,
): void {
  const cursors = keysetCursors(name);
  builder.queryField(name, (t) =>
    t.connection(
      {
        ...rule,
        type,
        args: filterOf(filter, filtered),
        resolve: (_root, args, { caller, dependencies }) => {
          // The compiler can't name the members of an argument whose type is a parameter.
          const { filter: given } = args as { filter?: Filter | null };
          return pageOf(args, cursors, list(dependencies, given ?? {}, caller));
        },
      },
      ...listNames(type.name),
    ),
  );
}
