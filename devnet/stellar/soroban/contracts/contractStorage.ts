/**
 * A contract's own storage: its instance, which is one entry with a map, and its persistent entries.
 */
import type { xdr } from '@stellar/stellar-sdk';
import { instanceOf, persistentData } from '../host.ts';
import type { Env } from '../host.ts';
import { dataKey, instanceKey } from '../ledgerKeys.ts';

export interface Instance {
  executable: xdr.ContractExecutable;
  get(key: xdr.ScVal): xdr.ScVal | null;
}

type StorageValues = readonly { key: xdr.ScVal; val: xdr.ScVal }[];

export function readInstance(env: Env, contract: string): Instance | null {
  const data = env.get(instanceKey(contract));
  if (!data) return null;
  const instance = data.contractData().val().instance();
  const values = new Map(
    (instance.storage() ?? []).map((entry) => [entry.key().toXDR('base64'), entry.val()]),
  );
  return { executable: instance.executable(), get: (key) => values.get(key.toXDR('base64')) ?? null };
}

/** Sets these values and leaves the others of the instance as they are. */
export function writeInstance(env: Env, contract: string, values: StorageValues): void {
  const key = instanceKey(contract);
  const data = env.get(key);
  if (!data) throw new Error(`No contract stands at ${contract}: it can't keep values`);
  const instance = data.contractData().val().instance();
  const kept = new Map(
    (instance.storage() ?? []).map((entry) => [
      entry.key().toXDR('base64'),
      { key: entry.key(), val: entry.val() },
    ]),
  );
  for (const value of values) kept.set(value.key.toXDR('base64'), value);
  env.put(key, instanceOf(contract, instance.executable(), [...kept.values()]));
}

export function readPersistent(env: Env, contract: string, key: xdr.ScVal): xdr.ScVal | null {
  return env.get(dataKey(contract, key))?.contractData().val() ?? null;
}

export function writePersistent(env: Env, contract: string, key: xdr.ScVal, val: xdr.ScVal): void {
  env.put(dataKey(contract, key), persistentData(contract, key, val));
}
