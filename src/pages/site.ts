/**
 * What every page knows of the server that it belongs to.
 */
import type { Clock } from '../lib/clock.ts';
import type { InclusionProof } from './inclusion.ts';

/** A command of the network's own tools, and what it shows. */
interface Command {
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
  /** What is wrong with a proof of inclusion; null when it leads to a head that this installation has signed. */
  checkInclusion(
    proof: InclusionProof,
  ): 'NO_CHECKPOINT' | 'NOT_SIGNED' | 'OTHER_NETWORK' | 'OTHER_HEAD' | 'NOT_INCLUDED' | null;
  clock: Clock;
}

export function absolute({ publicUrl }: Site, path: string): string {
  return new URL(path, publicUrl).href;
}
