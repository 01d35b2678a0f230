/**
 * Reads for many items of a list in one statement: keys requested in the same tick of a request are
 * loaded together. Nothing is cached, so a long subscription never reads stale values.
 */
import DataLoader from 'dataloader';

/** `load` is given the context of the request and the distinct keys that were asked for. */
export function createBatch<Context extends object, Key, Value>(
  load: (context: Context, keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>,
): (context: Context, key: Key) => Promise<Value | undefined> {
  const loaders = new WeakMap<Context, DataLoader<Key, Value | undefined>>();
  const loaderOf = (context: Context) => {
    const known = loaders.get(context);
    if (known) return known;
    const loadAll = async (keys: readonly Key[]) => {
      // What is asked for later makes another one. Kept, it would keep the request's objects past its end (see auth.ts).
      loaders.delete(context);
      const values = await load(context, [...new Set(keys)]);
      return keys.map((key) => values.get(key));
    };
    const loader = new DataLoader(loadAll, { cache: false });
    loaders.set(context, loader);
    return loader;
  };
  return (context, key) => loaderOf(context).load(key);
}
