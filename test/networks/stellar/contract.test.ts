/**
 * The Stellar adapter on the real Soroban host: the port's contract, through few and many channels, on both protocols.
 */
import { startStellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';
import { describeLedgerNetwork } from '../suite/network.ts';

const traits = { bytesExpire: true, addressesArePredicted: true };

describeLedgerNetwork('stellar, through 20 channels', traits, () => startStellarTestbed({ channels: 20 }));

describeLedgerNetwork(
  'stellar, with two channels, where the settlement asks its caller itself',
  { ...traits, fewSlots: 2 },
  () => startStellarTestbed({ channels: 2, devnet: { depositAuth: 'root' } }),
);

describeLedgerNetwork('stellar, with five channels, on protocol 26', { ...traits, fewSlots: 5 }, () =>
  startStellarTestbed({ channels: 5, devnet: { protocolVersion: 26 } }),
);
