/**
 * Counts the statements of a request.
 */
import { expect, vi } from 'vitest';
import type { Marketplace, TestCaller } from './marketplace.ts';

interface Session {
  prepareQuery(query: { sql: string }, ...rest: unknown[]): unknown;
}

/**
 * Sends the query, whose only field is `list`.
 * @param parts of statements; choose those that no worker sends meanwhile
 * @returns its nodes, and how many statements have each part
 */
export async function askCounted<Node>(
  market: Marketplace,
  query: string,
  caller: TestCaller,
  ...parts: readonly string[]
): Promise<{ nodes: Node[]; statements: number[] }> {
  const sent = vi.spyOn(market.app.dependencies.db._.session as unknown as Session, 'prepareQuery');
  const { data, errors } = await market.send<{ list: { nodes: Node[] } }>(query, {}, caller);
  const texts = sent.mock.calls.map(([{ sql }]) => sql);
  sent.mockRestore();
  expect(errors).toEqual([]);
  const statements = parts.map((part) => texts.filter((text) => text.includes(part)).length);
  return { nodes: data?.list.nodes ?? [], statements };
}
