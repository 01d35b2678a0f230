/**
 * Reads for many items of a list in one statement: what is asked for in the same moment of a request is
 * loaded together. Nothing is kept afterwards, so a long subscription never sees what was true before.
 */

interface Pending<Key, Value> {
  keys: Set<Key>;
  values: Promise<ReadonlyMap<Key, Value>>;
}

/** `load` is given the context of the request and the distinct keys that were asked for. */
export function createBatch<Context extends object, Key, Value>(
  load: (context: Context, keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>,
): (context: Context, key: Key) => Promise<Value | undefined> {
  const pendingOf = new WeakMap<Context, Pending<Key, Value>>();
  const begin = (context: Context): Pending<Key, Value> => {
    const keys = new Set<Key>();
    const values = Promise.resolve().then(() => {
      pendingOf.delete(context);
      return load(context, [...keys]);
    });
    const pending = { keys, values };
    pendingOf.set(context, pending);
    return pending;
  };
  return async (context, key) => {
    const { keys, values } = pendingOf.get(context) ?? begin(context);
    keys.add(key);
    return (await values).get(key);
  };
}
