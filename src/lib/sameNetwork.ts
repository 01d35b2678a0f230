/**
 * Whether two ids name the same ledger network. They do if the longer id continues the shorter one after a
 * colon, as a chain id and the same with the hash of its first block, which only a node has.
 */
export function isSameNetwork(one: string, other: string): boolean {
  return one === other || one.startsWith(`${other}:`) || other.startsWith(`${one}:`);
}
