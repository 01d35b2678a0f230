/**
 * Charges an address for the computing time of its documents, which a client can make long: parsing and validating are
 * done at once, and others wait for it.
 */
import type { Plugin } from 'graphql-yoga';
import type { TransportContext } from './transportContext.ts';

export type ChargeCpu = (remoteAddress: string, ms: number) => void;

/** Placed first, so that it measures what all others do. */
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

/** The system's answer takes as long as a twentieth of a small request, so one serves all that begins within this time. */
const READING_LASTS_MS = 10;
/** What took less was hardly interrupted. */
const UNINTERRUPTED_MS = 2;

/** Processor time of this process, as last asked for, and when that was. */
let reading = { atMs: Number.NEGATIVE_INFINITY, cpuMs: 0 };

/**
 * The shorter of two: other processes make the one longer, other threads of this process the other. While the machine is
 * busy, the result may contain up to READING_LASTS_MS of what ran before.
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
