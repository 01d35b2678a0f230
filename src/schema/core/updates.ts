/**
 * Subscriptions to one object: its state now and after each change, for callers who may see it.
 */
import type { ObjectRef } from '@pothos/core';
import type { Caller } from '../../identity/roles.ts';
import { notVisible } from '../../lib/notFound.ts';
import type { FollowedKind } from '../../resolvers/core/changeFollower.ts';
import type { forPublic, forRoles } from './access.ts';
import { builder, type ContractTypes } from './builder.ts';
import type { Context } from './context.ts';
import { idOf } from './inputs.ts';

interface FollowedField<Row extends { id: string }> {
  kind: FollowedKind<Row>;
  maySee(caller: Caller | null, row: Row): boolean;
  /** For the argument's description, and for the error. */
  noun: string;
}

/** The behaviour of these subscriptions, for their descriptions. */
export const UPDATES =
  'The current state is sent first, then the new state after each change. A client that reconnects starts ' +
  'from the current state. Short-lived states may be skipped. ';
/** For an object that can't be reopened. */
export const UPDATES_UNTIL_FINAL = `${UPDATES}The subscription ends in a final state: `;

/** Adds a field to Subscription, with the access rule of access.ts. */
export function subscribeTo<Shown, Row extends Shown & { id: string }>(
  name: string,
  type: ObjectRef<ContractTypes, Shown>,
  rule: ReturnType<typeof forPublic> | ReturnType<typeof forRoles>,
  followed: FollowedField<Row>,
): void {
  builder.subscriptionField(name, (t) =>
    t.field({
      ...rule,
      type,
      nullable: false,
      args: idOf(type, followed.noun),
      subscribe: (_root, args, context) => updatesOf(followed, args, context),
      resolve: (row: Row) => row as never,
    }),
  );
}

/** @throws DomainError NOT_FOUND, also for an object that the caller may not see */
async function updatesOf<Row extends { id: string }>(
  { kind, maySee, noun }: FollowedField<Row>,
  { id: { id } }: { id: { id: string } },
  { caller, dependencies }: Pick<Context, 'caller' | 'dependencies'>,
): Promise<AsyncIterableIterator<Row>> {
  const row = (await kind.findMany(dependencies, [id])).get(id);
  if (row === undefined || !maySee(caller, row)) throw notVisible(noun, 'id');
  const ending = new AbortController();
  const rows = dependencies.changeFollower.follow(kind, row, ending.signal);
  const seen = whileSeen(rows, (now) => maySee(caller, now));
  const stream: AsyncIterableIterator<Row> = {
    next: () => seen.next(),
    // Ends the stream also while it waits: a generator would return only after its next value.
    return: () => {
      ending.abort();
      return seen.return();
    },
    [Symbol.asyncIterator]: () => stream,
  };
  return stream;
}

/** A caller may lose access to a followed object: a lender, to a receipt that is no longer pledged. */
async function* whileSeen<Row>(
  rows: AsyncIterable<Row>,
  isSeen: (row: Row) => boolean,
): AsyncGenerator<Row, void, void> {
  for await (const row of rows) {
    if (!isSeen(row)) return;
    yield row;
  }
}
