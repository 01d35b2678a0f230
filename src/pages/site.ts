/**
 * What every page knows of the server that it belongs to.
 */
import type { Clock } from '../lib/clock.ts';

/** A command of the network's own tools, and what it shows. */
export interface Command {
  what: string;
  command: string;
}

export interface Site {
  /** Where others reach this server: what links on paper, in QR codes and in previews begin with. */
  publicUrl: string;
  network: { name: string; networkId: string };
  /** Reads a record without this server; null where others have no node of the network that could be asked. */
  recordCommands:
    ((place: { tokenAddress: string; index: number; txHash: string | null }) => Command[]) | null;
  clock: Clock;
}

export function absolute({ publicUrl }: Site, path: string): string {
  return new URL(path, publicUrl).href;
}
