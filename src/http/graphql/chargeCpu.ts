/**
 * The computing time that an address is charged for: a client can make it long, and others wait meanwhile.
 */
export type ChargeCpu = (remoteAddress: string, ms: number) => void;

/** Computing time of one error, which is located, mapped and serialized. */
export const ERROR_MS = 0.2;

/** How long a reading is used: asking the system takes as long as a twentieth of a small request. */
const READING_LASTS_MS = 10;
/** Work that took less was hardly interrupted. */
const UNINTERRUPTED_MS = 2;

/** The last reading: its time, and the processor time of this process. */
let reading = { atMs: Number.NEGATIVE_INFINITY, cpuMs: 0 };

/**
 * The shorter of wall time, which other processes lengthen, and processor time, which other threads lengthen.
 * While the machine is busy, the result may contain up to READING_LASTS_MS of earlier work.
 */
export function stopwatch(): () => number {
  const startedMs = performance.now();
  if (startedMs - reading.atMs > READING_LASTS_MS) reading = { atMs: startedMs, cpuMs: processCpuMs() };
  const { cpuMs } = reading;
  return () => {
    const tookMs = performance.now() - startedMs;
    return tookMs < UNINTERRUPTED_MS ? tookMs : Math.min(tookMs, processCpuMs() - cpuMs);
  };
}

function processCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
