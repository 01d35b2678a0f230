/**
 * The declaration of the embedded network, which lives in the platform's own database.
 */
import { randomBytes } from 'node:crypto';
import { systemClock } from '../../../lib/clock.ts';
import { defineFamily } from '../family.ts';
import { findContractProblems, findKeyProblems, STRKEY_SECRET_KEY } from '../strkeySettings.ts';

interface EmbeddedLedger {
  family: 'embedded';
  /** The custody signer's `S…` seed. */
  secretKey: string;
  /** By default, the settlement contract that the network gives each custody signer. */
  settlementAddress?: string | undefined;
}

export const embedded = defineFamily({
  id: 'embedded',
  title: 'the embedded network',
  names: ['embedded'],
  namesDescription: 'embedded',
  settings: {},
  node: null,
  secretKey: STRKEY_SECRET_KEY,
  requiredSettings: () => [],
  findProblems: async ({ values }) => [
    ...findKeyProblems(values),
    ...findContractProblems(values, ['RAMP_SETTLEMENT_ADDRESS']),
  ],
  nameOfMainnet: () => null,
  configure: (_network, values): EmbeddedLedger => ({
    family: 'embedded',
    secretKey: values.LEDGER_SECRET_KEY ?? '',
    settlementAddress: values.RAMP_SETTLEMENT_ADDRESS,
  }),
  walletFormat: {
    name: 'embedded-payload',
    description:
      'JSON in UTF-8, to be signed unchanged with ed25519. Return base64 of the 64-byte signature followed by ' +
      'the bytes of the JSON.',
  },

  migrations: ['embedded-network'],
  async create({ secretKey, settlementAddress }, { handle }) {
    if (handle === null) throw new Error('it lives in the database, which can’t be opened');
    const { createEmbeddedNetwork } = await import('./network.ts');
    const network = await createEmbeddedNetwork({
      handle,
      secretKey,
      clock: systemClock,
      randomBytes,
      settlementAddress,
    });
    return { network, clockControl: network, checkIdentity: null };
  },
  async *check() {},
  remedies: {},
  stale: null,
  recordCommands: null,
  channels: null,
});
