/**
 * The Stellar adapter on the real Soroban host: the port's contract, on both protocols. parallel.test.ts
 * tests what depends on the number of channels.
 */
import { startStellarTestbed } from '../../../devnet/stellar/stellarTestbed.ts';
import { describeLedgerNetwork } from '../suite/network.ts';

const traits = { bytesExpire: true, addressesArePredicted: true };

describeLedgerNetwork('stellar, through 20 channels', traits, () => startStellarTestbed({ channels: 20 }));

describeLedgerNetwork(
  'stellar, with five channels, on protocol 26, where the settlement asks its caller itself',
  { ...traits, fewSlots: 5 },
  () => startStellarTestbed({ channels: 5, devnet: { protocolVersion: 26, depositAuth: 'root' } }),
);
