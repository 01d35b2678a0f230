/**
 * ledgerNetwork: the network that this platform's tokens live on.
 */
import { readLedgerNetwork, type LedgerNetworkFacts } from '../../resolvers/operations/readLedgerNetwork.ts';
import { forPublic } from '../core/access.ts';
import { builder } from '../core/builder.ts';

const LedgerNetworkRef = builder.objectRef<LedgerNetworkFacts>('LedgerNetwork').implement({
  description:
    "The ledger network on which this platform's tokens live. Fields that only the node knows are null, with " +
    'LEDGER_UNAVAILABLE, while the node does not answer.',
  fields: (t) => ({
    name: t.exposeString('name', {
      description: 'The configured name of the network: embedded, ledger-testnet, evm, …',
    }),
    networkId: t.exposeString('networkId', {
      description:
        'The identifier of the network, such as a passphrase, or eip155:, the chain id and the first block.',
    }),
    custodyAddress: t.expose('custodyAddress', {
      type: 'Address',
      description:
        "The address of the platform's only signer, which signs every write. New credits are minted to this " +
        'address, and credits that buyers retire are burned from it.',
    }),
    settlementAddress: t.field({
      type: 'Address',
      nullable: true,
      description:
        'The address of the ramp settlement contract. Null when there is none. Errors: LEDGER_UNAVAILABLE.',
      resolve: async ({ askNode }) => (await askNode()).settlementAddress,
    }),
    latestLedger: t.field({
      type: 'LedgerNumber',
      nullable: true,
      description: 'The number of the latest ledger that is closed and final. Errors: LEDGER_UNAVAILABLE.',
      resolve: async ({ askNode }) => (await askNode()).ledger,
    }),
    latestLedgerClosedAt: t.field({
      type: 'UnixTime',
      nullable: true,
      description:
        "The time the latest ledger closed, by the network's clock, in Unix seconds. Errors: LEDGER_UNAVAILABLE.",
      resolve: async ({ askNode }) => (await askNode()).closedAt,
    }),
    clockCanBeMoved: t.exposeBoolean('clockCanBeMoved', {
      description:
        'Whether `advanceNetworkClock` works on this network: only on development networks, and not in production.',
    }),
    signingHaltedBecause: t.string({
      nullable: true,
      description:
        'The reason why signing is halted: retirements wait, purchases continue. Null while signing works.',
      resolve: ({ readHalt }) => readHalt(),
    }),
    oldestLedger: t.field({
      type: 'LedgerNumber',
      nullable: true,
      description:
        'The number of the oldest ledger whose transactions can still be looked up. Errors: LEDGER_UNAVAILABLE.',
      resolve: async ({ askNode }) => (await askNode()).oldestLedger,
    }),
  }),
});

builder.queryField('ledgerNetwork', (t) =>
  t.field({
    ...forPublic('The ledger network and its status.'),
    type: LedgerNetworkRef,
    resolve: (_root, _args, { dependencies }) => readLedgerNetwork(dependencies),
  }),
);
