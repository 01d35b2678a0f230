/**
 * How to read a retirement's record without this server: commands of a network's own tools, to be run against a node of
 * the reader's choice.
 */
export interface RecordPlace {
  tokenAddress: string;
  index: number;
  txHash: string | null;
}

export interface RecordCommand {
  /** What it shows. */
  what: string;
  command: string;
}

/** @param networkId as the port gives it */
export type RecordCommands = (place: RecordPlace, networkId: string) => RecordCommand[];
