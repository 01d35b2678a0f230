/**
 * ledgerNetwork: the network that this platform's tokens live on.
 */
import { readLedgerNetwork } from '../../resolvers/operations/readLedgerNetwork.ts';
import type { LedgerNetworkFacts } from '../../resolvers/operations/readLedgerNetwork.ts';
import { forPublic } from '../core/access.ts';
import { builder } from '../core/builder.ts';

const LedgerNetworkRef = builder.objectRef<LedgerNetworkFacts>('LedgerNetwork').implement({
  description: "The ledger network that this platform's tokens live on.",
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
    settlementAddress: t.expose('settlementAddress', {
      type: 'Address',
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
    signingHaltedBecause: t.exposeString('signingHaltedBecause', {
      nullable: true,
      description: 'Why signing is halted: retirements wait, purchases continue. Null while signing works.',
    }),
    oldestLedger: t.expose('oldestLedger', {
      type: 'LedgerNumber',
      description: 'The oldest ledger whose transactions can still be looked up.',
    }),
  }),
});

builder.queryField('ledgerNetwork', (t) =>
  t.field({
    ...forPublic('The ledger network and its status. Errors: LEDGER_UNAVAILABLE.'),
    type: LedgerNetworkRef,
    nullable: true,
    resolve: (_root, _args, { dependencies }) => readLedgerNetwork(dependencies),
  }),
);
