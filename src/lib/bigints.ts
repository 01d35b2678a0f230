/** As Math.min and Math.max, which take no integers beyond 2^53. At least one value each. */
export function smallest(...values: bigint[]): bigint {
  return values.reduce((one, other) => (other < one ? other : one));
}

export function largest(...values: bigint[]): bigint {
  return values.reduce((one, other) => (other > one ? other : one));
}
