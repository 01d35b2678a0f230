/**
 * What every page knows of the server that it belongs to.
 */
import type { Clock } from '../lib/clock.ts';

export interface Site {
  /** Where others reach this server: what links on paper, in QR codes and in previews begin with. */
  publicUrl: string;
  network: { name: string; networkId: string };
  clock: Clock;
}

export function absolute({ publicUrl }: Site, path: string): string {
  return new URL(path, publicUrl).href;
}
