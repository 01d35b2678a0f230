/**
 * Times of the contract: `createdAt: t.expose('createdAt', moment('When it was booked'))`.
 */

export function moment(what: string) {
  return timeOf(`${what}, in Unix seconds.`);
}

export function momentOrNull(what: string, otherwise = 'null before') {
  return { ...timeOf(`${what}, in Unix seconds; ${otherwise}.`), nullable: true } as const;
}

/** The ends of a filter's range. */
export function fromTime(what: string) {
  return timeOf(`${what} at this time or later, in Unix seconds.`);
}

export function untilTime(what: string) {
  return timeOf(`${what} before this time, in Unix seconds.`);
}

function timeOf(description: string) {
  return { type: 'UnixTime', description } as const;
}
