/**
 * The embedded network's controls beside the port: its time, its pauses, and holders other than custody.
 *
 * Pauses, transfers and retirements by other holders are signed transactions and land like all others.
 */
import type { Clock } from '../../../lib/clock.ts';
import type { Db } from '../../../db/connection.ts';
import type { ClockControl } from '../clockControl.ts';
import type { Address, TransactionHash } from '../port.ts';
import { advanceLedgerClock } from './ledgerClock.ts';
import type { EmbeddedSigner, SubmitCall } from './draft.ts';
import { keypairOf } from '../../../lib/strkey.ts';
import type { Keypair } from '../../../lib/strkey.ts';

export interface EmbeddedControls extends ClockControl {
  readonly factoryAddress: Address;
  /**
   * Pauses (with `false`: unpauses) a token or settlement contract that custody administers.
   * @throws NetworkRefusal
   */
  pauseToken(contractAddress: Address, paused?: boolean): Promise<TransactionHash>;
  /** From custody's own balance. @throws NetworkRefusal */
  transfer(tokenAddress: Address, to: Address, amount: bigint): Promise<TransactionHash>;
  /** A holder with the key `secretKey`, who signs themselves. @throws Error when it is no seed */
  createSigner(secretKey: string): EmbeddedSigner;
}

export function createControls(deps: {
  db: Db;
  clock: Clock;
  custody: Keypair;
  factoryAddress: Address;
  submit: SubmitCall;
}): EmbeddedControls {
  const { db, clock, custody, submit } = deps;
  return {
    factoryAddress: deps.factoryAddress,
    advanceClock: async (seconds) => (await advanceLedgerClock(db, clock, seconds)).closedAt,
    async pauseToken(contractAddress, paused = true) {
      return (await submit(custody, { kind: 'setPaused', contractAddress, paused })).hash;
    },
    async transfer(tokenAddress, to, amount) {
      return (await submit(custody, { kind: 'transfer', tokenAddress, to, amount })).hash;
    },
    createSigner(secretKey) {
      const keypair = keypairOf(secretKey);
      return {
        address: keypair.address,
        transfer: async (call) => (await submit(keypair, { kind: 'transfer', ...call })).hash,
        retire: async (call) => (await submit(keypair, { kind: 'retire', ...call })).hash,
      };
    },
  };
}
