/**
 * ledgerNetwork: the network that this platform's tokens live on.
 */
import { readLedgerNetwork } from '../../resolvers/operations/readLedgerNetwork.ts';
import type { LedgerNetworkFacts } from '../../resolvers/operations/readLedgerNetwork.ts';
import { forPublic } from '../core/access.ts';
import { builder } from '../core/builder.ts';

const LedgerNetworkRef = builder.objectRef<LedgerNetworkFacts>('LedgerNetwork').implement({
  description:
    "The ledger network that this platform's tokens live on. What the node alone knows is null, with LEDGER_UNAVAILABLE, while it " +
    'does not answer.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its configured name: embedded, ledger-testnet, evm, …' }),
    networkId: t.exposeString('networkId', {
      description: 'Identifies the network: a passphrase, or eip155:, the chain id and the first block.',
    }),
    custodyAddress: t.expose('custodyAddress', {
      type: 'Address',
      description:
        "The platform's one signer, which signs every write. New credits are minted to it, and it burns what buyers retire.",
    }),
    settlementAddress: t.field({
      type: 'Address',
      nullable: true,
      description: 'The ramp settlement contract, or null when there is none. Errors: LEDGER_UNAVAILABLE.',
      resolve: async ({ askNode }) => (await askNode()).settlementAddress,
    }),
    latestLedger: t.field({
      type: 'LedgerNumber',
      nullable: true,
      description: 'The latest ledger that is closed and final. Errors: LEDGER_UNAVAILABLE.',
      resolve: async ({ askNode }) => (await askNode()).ledger,
    }),
    latestLedgerClosedAt: t.field({
      type: 'UnixTime',
      nullable: true,
      description: "When it closed, by the network's clock, in Unix seconds. Errors: LEDGER_UNAVAILABLE.",
      resolve: async ({ askNode }) => (await askNode()).closedAt,
    }),
    clockCanBeMoved: t.exposeBoolean('clockCanBeMoved', {
      description:
        'Whether `advanceNetworkClock` works here: on networks for development only, and not in production.',
    }),
    signingHaltedBecause: t.string({
      nullable: true,
      description: 'Why signing is halted: retirements wait, purchases continue. Null while signing works.',
      resolve: ({ readHalt }) => readHalt(),
    }),
    oldestLedger: t.field({
      type: 'LedgerNumber',
      nullable: true,
      description: 'The oldest ledger whose transactions can still be looked up. Errors: LEDGER_UNAVAILABLE.',
      resolve: async ({ askNode }) => (await askNode()).oldestLedger,
    }),
  }),
});

builder.queryField('ledgerNetwork', (t) =>
  t.field({
    ...forPublic('The ledger network and its status.'),
    type: LedgerNetworkRef,
    nullable: true,
    resolve: (_root, _args, { dependencies }) => readLedgerNetwork(dependencies),
  }),
);
