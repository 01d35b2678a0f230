/**
 * The Stellar adapter on the simulated network: the port's contract, with custody alone and through channels.
 */
import { startStellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';
import { describeLedgerNetwork } from '../suite/network.ts';

const traits = { bytesExpire: true, addressesArePredicted: true };

describeLedgerNetwork('stellar, through 20 channels', traits, () => startStellarTestbed({ channels: 20 }));

describeLedgerNetwork(
  'stellar, with two channels, where the settlement asks its caller itself',
  { ...traits, fewSlots: 2 },
  () => startStellarTestbed({ channels: 2, simulator: { depositAuth: 'root' } }),
);

describeLedgerNetwork('stellar, at a node of protocol 22', { ...traits, fewSlots: 3 }, () =>
  startStellarTestbed({ channels: 3, simulator: { protocolVersion: 22 } }),
);
