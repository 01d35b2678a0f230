/**
 * Channel accounts of the configured network: lists them, makes missing ones, and tops up those that have
 * spent their fees.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { withAdvisoryLock } from '../db/advisoryLock.ts';
import type { Db } from '../db/connection.ts';
import { hasTable } from './hasTable.ts';
import { messageOf } from '../lib/errors.ts';
import type { ChannelState } from '../ledger/network/channelAccounts.ts';
import { familyOf } from '../ledger/network/families.ts';
import type { ConfiguredLedger } from '../ledger/network/family.ts';
import { noteSequence } from '../ledger/submission/noteSequence.ts';
import { StartupError } from '../lib/startupErrors.ts';
import { collectChannelKeys, type ChannelKeys } from './channelKeys.ts';

export interface ChannelsRequest {
  /** The least number of accounts; 0 only lists the existing ones. */
  count: number;
  /** The funds of a new account. Accounts with less than half of it are topped up to it. */
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
 * @param deps.db stores the sequences that custody uses
 * @throws StartupError, NetworkUnavailable, WrongNetwork
 */
export async function ensureChannels(
  deps: { ledger: ConfiguredLedger; dataDir: string; db: Db; random: (size: number) => Uint8Array },
  { count, fundsStroops }: ChannelsRequest,
): Promise<EnsuredChannels> {
  const { ledger, dataDir, db, random } = deps;
  const accounts = await familyOf(ledger).channels?.open(ledger);
  if (!accounts) throw new StartupError('Channels are accounts of Stellar, and other networks need none.');
  // Checked first, so that keys are made and accounts paid on the configured network only.
  await accounts.checkIdentity();
  const { configuredKeys: configured } = accounts;
  // Without the lock, two runs would each replace the other's keys in the file, and pay accounts whose keys
  // are lost.
  const keys = await withAdvisoryLock(db, 'channelKeys', () =>
    collectChannelKeys({ configured, dataDir, count, random }),
  );
  const isKnown = await hasTable(db, 'signing_accounts');
  const before = await accounts.read(keys.secretKeys);
  if (count === 0) return { channels: before, made: [], toppedUp: [], keys };

  const isMissing = new Set(
    before.filter(({ balanceStroops }) => balanceStroops === null).map(({ address }) => address),
  );
  // Custody signs with its own sequences only when no channels are configured.
  const custody = { address: accounts.custodyAddress, isCompared: configured.length === 0 };
  const funded = await explained(
    accounts.fund(keys.secretKeys, {
      startingBalanceStroops: fundsStroops,
      topUpBelowStroops: fundsStroops / 2n,
      beforeSending: async (used) => {
        if (isKnown) await noteSequence(db, custody, used);
      },
      wait: (ms) => delay(ms),
    }),
  );
  return {
    channels: await accounts.read(keys.secretKeys),
    made: funded.filter((address) => isMissing.has(address)),
    toppedUp: funded.filter((address) => !isMissing.has(address)),
    keys,
  };
}

/** The operator has to fix the causes of the network's refusals here, so they become messages. */
async function explained<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new StartupError(messageOf(error), { cause: error });
  }
}
