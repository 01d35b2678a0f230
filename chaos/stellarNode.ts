/**
 * A Stellar network for the laboratory: the real Soroban host, behind a program that can answer falsely.
 */
import { startStellarWorld } from '../devnet/stellar/stellarWorld.ts';
import { noFaults, type Faults } from '../devnet/soroban/faultProxy.ts';
import { chosen, LEDGER_SECONDS, LEDGERS_BEHIND, settingsOf, type LabNode } from './labNode.ts';

/** The number of writes in a ledger. */
const CHANNELS = 4;
/** More than the number of requests before the lie ends. */
const ALL = 1_000_000;

export async function startStellarNode(): Promise<LabNode> {
  const world = await startStellarWorld({
    channels: CHANNELS,
    devnet: { closeEveryMs: LEDGER_SECONDS * 1_000, closeSeconds: LEDGER_SECONDS },
  });
  const { testbed, ledger } = world;
  const indexerUrl = world.indexerUrl ?? '';
  const { faults, ...node } = testbed.devnet.controls;
  return {
    url: ledger.rpcUrl,
    indexerUrl,
    settings: {
      ...settingsOf(ledger, indexerUrl),
      LEDGER_PASSPHRASE: ledger.passphrase,
      LEDGER_CHANNEL_SECRET_KEYS: ledger.channelSecretKeys.join(','),
    },
    async freeze() {
      node.hold();
      faults.unreachable = 'silent';
    },
    async thaw() {
      faults.unreachable = null;
      node.release();
    },
    async lie(choice) {
      const [what, lie] = chosen(lies, choice);
      Object.assign(faults, lie);
      return what;
    },
    obey: () => void Object.assign(faults, noFaults(), { unreachable: faults.unreachable }),
    async dropWaiting() {
      for (const hash of node.waiting()) node.dropWaiting(hash);
    },
    advanceTime: async (seconds) => node.passTime(seconds),
    createHolder: world.createHolder,
    close: world.close,
  };
}

const lies: Readonly<Record<string, Partial<Faults>>> = {
  'it is behind': { lagLedgers: LEDGERS_BEHIND },
  'it takes no transactions': { tryAgainLater: ALL },
  'it has every transaction already': { sayDuplicate: ALL },
  'no sequence is the next one': { sayBadSequence: ALL },
  'what it says of sent transactions is lost': { loseSendAnswers: ALL },
  'it knows of no transaction': { denyTransactions: ALL },
};
