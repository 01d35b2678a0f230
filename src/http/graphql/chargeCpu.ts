/**
 * Charges an address for the computing time of its documents. A client can make it long, and others wait
 * meanwhile: parsing and validating block the event loop.
 */
import type { Plugin } from 'graphql-yoga';
import type { TransportContext } from './transportContext.ts';

export type ChargeCpu = (remoteAddress: string, ms: number) => void;

/** Place this plugin first, so that it measures all other plugins. */
export function useCpuCharge(charge: ChargeCpu): Plugin {
  const measure = (context: unknown) => {
    const elapsed = stopwatch();
    return () => charge((context as TransportContext).remoteAddress, elapsed());
  };
  return {
    onParse: ({ context }) => measure(context),
    onValidate: ({ context }) => measure(context),
  };
}

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
