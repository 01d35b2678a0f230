/**
 * Values as JSON, with integers of any size: a bigint becomes `{ "$integer": "…" }`, as JSON numbers lose
 * digits.
 */
const TAG = '$integer';

/** A value that JSON.stringify writes without loss of digits; decodeExact reverses it. */
export function encodeExact(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_key, part: unknown) =>
      typeof part === 'bigint' ? { [TAG]: part.toString() } : part,
    ),
  );
}

/** Reads what `encodeExact` wrote. */
export function decodeExact(stored: unknown): unknown {
  if (typeof stored !== 'object' || stored === null) return stored;
  if (isTagged(stored)) return BigInt(stored[TAG]);
  if (Array.isArray(stored)) return stored.map(decodeExact);
  return Object.fromEntries(Object.entries(stored).map(([key, part]) => [key, decodeExact(part)]));
}

function isTagged(value: object): value is { [TAG]: string } {
  return TAG in value;
}
