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
  return JSON.parse(JSON.stringify(stored), (_key, part: unknown) =>
    isTagged(part) ? BigInt(part[TAG]) : part,
  );
}

function isTagged(value: unknown): value is { [TAG]: string } {
  return typeof value === 'object' && value !== null && TAG in value;
}
