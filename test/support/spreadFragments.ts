/**
 * An operation with a fragment that is spread a million times, for limits that have to walk it once.
 */
import { Kind, type DocumentNode } from 'graphql';

/** @param query spreads `f0`; twenty fragments each spread the next one twice, and the last has `selection` */
export function spreadOften(query: string, type: string, selection: string): string {
  const spreading = Array.from(
    { length: 20 },
    (_, i) => `fragment f${i} on ${type} { ...f${i + 1} ...f${i + 1} }`,
  );
  return `${query} ${spreading.join(' ')} fragment f20 on ${type} { ${selection} }`;
}

/** Throws when the last fragment is walked a second time. */
export function allowOneWalk({ definitions }: DocumentNode): void {
  const last = definitions.at(-1);
  if (last?.kind !== Kind.FRAGMENT_DEFINITION) throw new Error('no fragment');
  const { selections } = last.selectionSet;
  let walks = 0;
  const walked = () => {
    walks += 1;
    if (walks > 1) throw new Error('walked again');
    return selections;
  };
  Object.defineProperty(last.selectionSet, 'selections', { get: walked });
}
