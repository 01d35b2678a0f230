/**
 * Channel accounts of the configured Stellar network: which there are, making those that are missing, and topping up
 * those that have spent their fees.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from '../db/connection.ts';
import { hasTable } from '../db/hasTable.ts';
import { messageOf } from '../errors.ts';
import { addressOfSecretKey } from '../ledger/network/embedded/strkey.ts';
import { stellarIdentityCheck } from '../ledger/network/nodeIdentity.ts';
import { fundChannels, readChannels, type ChannelState } from '../ledger/network/stellar/channels.ts';
import { noteSequence } from '../ledger/submission/noteSequence.ts';
import type { StellarLedger } from '../ledgerConfig.ts';
import { StartupError } from '../startupErrors.ts';
import { collectChannelKeys, type ChannelKeys } from './channelKeys.ts';

export interface ChannelsRequest {
  /** How many there should be at least; 0 only looks at those there are. */
  count: number;
  /** What new ones get, and those with less than half of it are topped up to. */
  fundsStroops: bigint;
}

export interface EnsuredChannels {
  channels: readonly ChannelState[];
  /** Addresses of accounts that did not exist before. */
  made: readonly string[];
  toppedUp: readonly string[];
  keys: ChannelKeys;
}

/**
 * @param deps.db is told of the sequences that custody uses up.
 * @throws StartupError, NetworkUnavailable, WrongNetwork
 */
export async function ensureChannels(
  deps: { ledger: StellarLedger; dataDir: string; db: Db; random: (size: number) => Uint8Array },
  { count, fundsStroops }: ChannelsRequest,
): Promise<EnsuredChannels> {
  const { ledger, dataDir, db, random } = deps;
  // Keys are made for, and money is given to, accounts of the network that is meant.
  await stellarIdentityCheck(ledger)();
  const keys = await collectChannelKeys({ configured: ledger.channelSecretKeys, dataDir, count, random });
  const options = { ...ledger, channelSecretKeys: keys.secretKeys };
  const custody = addressOfSecretKey(ledger.secretKey);
  const isKnown = await hasTable(db, 'signing_accounts');
  const before = await readChannels(options);
  if (count === 0) return { channels: before, made: [], toppedUp: [], keys };

  const isMissing = new Set(
    before.filter(({ balanceStroops }) => balanceStroops === null).map(({ address }) => address),
  );
  const funded = await explained(
    fundChannels(options, {
      startingBalanceStroops: fundsStroops,
      topUpBelowStroops: fundsStroops / 2n,
      beforeSending: async (used) => {
        if (isKnown) await noteSequence(db, custody, used);
      },
      wait: (ms) => delay(ms),
    }),
  );
  return {
    channels: await readChannels(options),
    made: funded.filter((address) => isMissing.has(address)),
    toppedUp: funded.filter((address) => !isMissing.has(address)),
    keys,
  };
}

/** What the network refuses here is for the operator to mend. */
async function explained<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new StartupError(messageOf(error), { cause: error });
  }
}
