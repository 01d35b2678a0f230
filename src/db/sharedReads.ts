/**
 * One statement for the rows that different requests ask for in the same turn of the event loop. Under load a
 * turn brings many requests, and sending a statement takes longer than all other work of a short read.
 *
 * Each statement begins after its requests came, so each request sees the commits before it. No row is
 * cached.
 */
import DataLoader from 'dataloader';
import type { Db } from './connection.ts';
import { getOrMake } from '../lib/getOrMake.ts';

/** Maximum keys in one statement; further keys make another one. */
const MAX_KEYS = 64;

/** @param readMany reads rows by their keys */
export function createSharedRead<Key, Row>(
  readMany: (db: Db, keys: readonly Key[]) => Promise<ReadonlyMap<Key, Row>>,
): (db: Db, key: Key) => Promise<Row | null> {
  const loaders = new WeakMap<Db, DataLoader<Key, Row | null>>();
  const loaderOf = (db: Db) => {
    const read = async (keys: readonly Key[]) => {
      const rows = await readMany(db, [...new Set(keys)]);
      return keys.map((key) => rows.get(key) ?? null);
    };
    return new DataLoader(read, {
      cache: false,
      maxBatchSize: MAX_KEYS,
      batchScheduleFn: (callback) => setImmediate(callback),
    });
  };
  return (db, key) => getOrMake(loaders, db, () => loaderOf(db)).load(key);
}
