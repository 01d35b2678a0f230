/**
 * Network calls as JSON, with exact integers of any size.
 */
import type { NetworkCall } from '../network/port.ts';

const TAG = '$integer';

/** Bigints become `{ "$integer": "…" }`: JSON numbers would lose their digits. */
export function encodeCall(call: NetworkCall): unknown {
  return JSON.parse(
    JSON.stringify(call, (_key, value: unknown) =>
      typeof value === 'bigint' ? { [TAG]: value.toString() } : value,
    ),
  );
}

/** Reads what `encodeCall` wrote; database rules keep it unchanged in between. */
export function decodeCall(stored: unknown): NetworkCall {
  return JSON.parse(JSON.stringify(stored), (_key, value: unknown) =>
    isTagged(value) ? BigInt(value[TAG]) : value,
  ) as NetworkCall;
}

function isTagged(value: unknown): value is { [TAG]: string } {
  return typeof value === 'object' && value !== null && TAG in value;
}
