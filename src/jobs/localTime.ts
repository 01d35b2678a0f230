/**
 * The clock of the configured time zone, as Node knows it: PostgreSQL may know fewer zones, or other names.
 */

/** Time zones differ from UTC by whole quarters of an hour. */
const STEP_MS = 15 * 60_000;

interface LocalTime {
  /** As YYYY-MM-DD. */
  date: string;
  hour: number;
}

export function localTime(now: Date, timeZone: string): LocalTime {
  return readLocalTimes(timeZone)(now);
}

/** The next moment at which the hour begins; if the clock is moved past the hour, the moment of the move. */
export function nextTimeOf(hour: number, now: Date, timeZone: string): Date {
  const read = readLocalTimes(timeZone);
  const isBefore = (ms: number) => read(new Date(ms)).hour < hour;
  let ms = Math.floor(now.getTime() / STEP_MS) * STEP_MS;
  for (;;) {
    const wasBefore = isBefore(ms);
    ms += STEP_MS;
    if (wasBefore && !isBefore(ms)) return new Date(ms);
  }
}

function readLocalTimes(timeZone: string): (moment: Date) => LocalTime {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    hourCycle: 'h23',
  });
  return (moment) => {
    const parts = new Map(format.formatToParts(moment).map(({ type, value }) => [type, value]));
    const date = `${parts.get('year')}-${parts.get('month')}-${parts.get('day')}`;
    return { date, hour: Number(parts.get('hour')) };
  };
}
