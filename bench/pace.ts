/**
 * The pace of the benchmark's networks. The devnet's process reads it without loading the other networks.
 */
export const BLOCK_SECONDS = 1;
/** The number that the documentation recommends: as many retirements of one token fill a Stellar ledger. */
export const CHANNELS = 22;
