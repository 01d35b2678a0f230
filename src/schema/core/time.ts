/**
 * Times of the contract: `createdAt: t.expose('createdAt', moment('The time the purchase was booked'))`.
 */

export function moment(what: string) {
  return timeOf(`${what}, in Unix seconds.`);
}

export function momentOrNull(what: string, otherwise = 'Null until then') {
  return { ...timeOf(`${what}, in Unix seconds. ${otherwise}.`), nullable: true } as const;
}

/** The ends of a filter's range. */
export function fromTime(what: string) {
  return timeOf(`Only ${what} at or after this time, in Unix seconds.`);
}

export function untilTime(what: string) {
  return timeOf(`Only ${what} before this time, in Unix seconds.`);
}

function timeOf(description: string) {
  return { type: 'UnixTime', description } as const;
}
