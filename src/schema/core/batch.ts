/**
 * Reads for many items of a list in one statement: keys requested in the same tick of a request are
 * loaded together. Nothing is cached, so a long subscription never reads stale values.
 */
import DataLoader from 'dataloader';

type Load<Needed, Key, Value> = (
  dependencies: Needed,
  keys: readonly Key[],
) => Promise<ReadonlyMap<Key, Value>>;

/** @param load receives the dependencies of the request, and the requested keys without duplicates */
export function createBatch<Needed, Key, Value>(
  load: Load<Needed, Key, Value>,
): (context: { dependencies: Needed }, key: Key) => Promise<Value | undefined> {
  const loaders = new WeakMap<object, DataLoader<Key, Value | undefined>>();
  return (context, key) => {
    let loader = loaders.get(context);
    if (loader === undefined) {
      const loadAll = async (keys: readonly Key[]) => {
        // Later keys make another loader. Keeping this one would keep the request's objects past its end (see
        // auth.ts).
        loaders.delete(context);
        const values = await load(context.dependencies, [...new Set(keys)]);
        return keys.map((one) => values.get(one));
      };
      loader = new DataLoader(loadAll, { cache: false });
      loaders.set(context, loader);
    }
    return loader.load(key);
  };
}

/** A batch whose values must exist. */
export function createRequiredBatch<Needed, Value>(
  what: string,
  load: Load<Needed, string, Value>,
): (context: { dependencies: Needed }, id: string) => Promise<Value> {
  const read = createBatch(load);
  return async (context, id) => {
    const value = await read(context, id);
    if (value === undefined) throw new Error(`${what} ${id} is missing in the database`);
    return value;
  };
}
