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

/** The shorter of two: other processes make the one longer, other threads of this process the other. */
export function stopwatch(): () => number {
  const startedMs = performance.now();
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return Math.min(performance.now() - startedMs, (user + system) / 1000);
  };
}
