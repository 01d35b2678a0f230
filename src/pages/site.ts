/**
 * The facts about the server that every page knows.
 */
import type { Clock } from '../lib/clock.ts';
import type { InclusionProof } from './inclusion.ts';

/** A command of the network's own tools, and a description of its result. */
interface Command {
  what: string;
  command: string;
}

export interface Site {
  /**
   * The address at which others reach this server: the beginning of links on paper, in QR codes and in
   * previews.
   */
  publicUrl: string;
  network: { name: string; networkId: string };
  /** The commands that read a record without this server; null when others have no node of the network. */
  recordCommands:
    ((place: { tokenAddress: string; index: number; txHash: string | null }) => Command[]) | null;
  /** The problem of a proof of inclusion; null when it leads to a head that this installation has signed. */
  checkInclusion(
    proof: InclusionProof,
  ): 'NO_CHECKPOINT' | 'NOT_SIGNED' | 'OTHER_NETWORK' | 'OTHER_HEAD' | 'NOT_INCLUDED' | null;
  clock: Clock;
}

export function absolute({ publicUrl }: Site, path: string): string {
  return new URL(path, publicUrl).href;
}
