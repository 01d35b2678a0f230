/**
 * ledgerNetwork: where this platform's tokens live.
 */
import { readLedgerNetwork } from '../resolvers/readLedgerNetwork.ts';
import type { LedgerNetworkFacts } from '../resolvers/readLedgerNetwork.ts';
import { forEverybody } from './access.ts';
import { builder } from './platform.ts';

const LedgerNetworkRef = builder.objectRef<LedgerNetworkFacts>('LedgerNetwork').implement({
  description: "The ledger network that this platform's tokens live on.",
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its configured name: embedded, ledger-testnet, evm, …' }),
    networkId: t.exposeString('networkId', {
      description:
        'Tells it from every other network: a passphrase, or eip155:, the chain id and the first block.',
    }),
    custodyAddress: t.exposeString('custodyAddress', {
      description: "The platform's one signer, which signs every write and burns what buyers retire.",
    }),
    treasuryAddress: t.exposeString('treasuryAddress', { description: 'Where new credits are minted to.' }),
    settlementAddress: t.exposeString('settlementAddress', {
      nullable: true,
      description: 'The ramp settlement contract, or null when there is none.',
    }),
    latestLedger: t.expose('ledger', {
      type: 'LedgerNumber',
      description: 'The latest ledger that is closed and final.',
    }),
    latestLedgerClosedAt: t.expose('closedAt', {
      type: 'UnixTime',
      description: "When it closed, by the network's clock, in Unix seconds.",
    }),
    clockCanBeMoved: t.exposeBoolean('clockCanBeMoved', {
      description: 'Whether `advanceNetworkClock` works here: on networks for development only.',
    }),
    oldestLedger: t.expose('oldestLedger', {
      type: 'LedgerNumber',
      description: 'The oldest ledger whose transactions can still be looked up.',
    }),
  }),
});

builder.queryField('ledgerNetwork', (t) =>
  t.field({
    ...forEverybody('The ledger network, and where it stands. Errors: LEDGER_UNAVAILABLE.'),
    type: LedgerNetworkRef,
    resolve: (_root, _args, { dependencies }) => readLedgerNetwork(dependencies),
  }),
);
