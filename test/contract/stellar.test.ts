/**
 * The Stellar adapter on the simulated network: the port's contract, with custody alone and through channels.
 */
import { stageStellar } from '../harness/stellarStage.ts';
import { describeLedgerNetwork } from './network.ts';

const traits = { bytesExpire: true, addressesArePredicted: true };

describeLedgerNetwork('stellar, through 20 channels', traits, () => stageStellar({ channels: 20 }));

describeLedgerNetwork(
  'stellar, with two channels, where the settlement asks its caller itself',
  { ...traits, fewSlots: 2 },
  () => stageStellar({ channels: 2, simulator: { depositAuth: 'root' } }),
);

describeLedgerNetwork('stellar, at a node of protocol 22', { ...traits, fewSlots: 3 }, () =>
  stageStellar({ channels: 3, simulator: { protocolVersion: 22 } }),
);
