/**
 * Counts the statements of a request.
 */
import { expect, vi } from 'vitest';
import type { Marketplace, TestCaller } from './marketplace.ts';

interface Session {
  prepareQuery(query: { sql: string }, ...rest: unknown[]): unknown;
}

type Page<Node> = { nodes: Node[] };

/**
 * Sends the query, whose page is named `list`: its only field, or the only field of that.
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
  const { data, errors } = await market.send<Record<string, Page<Node> | { list: Page<Node> }>>(
    query,
    {},
    caller,
  );
  const texts = sent.mock.calls.map(([{ sql }]) => sql);
  sent.mockRestore();
  expect(errors).toEqual([]);
  const statements = parts.map((part) => texts.filter((text) => text.includes(part)).length);
  const [field] = Object.values(data ?? {});
  const page = field && ('list' in field ? field.list : field);
  return { nodes: page?.nodes ?? [], statements };
}
