/** Math.min and Math.max for bigints. Both need at least one value. */
export function smallest(...values: bigint[]): bigint {
  return values.reduce((one, other) => (other < one ? other : one));
}

export function largest(...values: bigint[]): bigint {
  return values.reduce((one, other) => (other > one ? other : one));
}
