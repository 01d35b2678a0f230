/**
 * An additional family of networks, written as a new one would be: a declaration with a name, settings and an
 * adapter. Its contracts are the embedded network's, under another name.
 */
import { randomBytes } from 'node:crypto';
import { systemClock } from '../../../src/lib/clock.ts';
import { setting, text } from '../../../src/lib/settingRules.ts';
import { pass, warn } from '../../../src/ledger/network/check.ts';
import { createEmbeddedNetwork } from '../../../src/ledger/network/embedded/network.ts';
import { defineFamily } from '../../../src/ledger/network/family.ts';

export const toy = defineFamily({
  id: 'toy',
  title: 'toy networks',
  names: ['toy-box', 'toy-shop'],
  namesDescription: 'toy-box, toy-shop',
  settings: {
    TOY_MAKER: setting(text.optional(), null, 'Who made the toy.', { after: 'LEDGER_SECRET_KEY' }),
    TOY_SPEED: setting(text, 'slow', 'How fast the toy goes.'),
  },
  node: null,
  secretKey: { pattern: /^S[A-Z2-7]{55}$/, form: 'a key of a toy', shown: 'S… for toys' },
  requiredSettings: () => ['LEDGER_SECRET_KEY', 'TOY_MAKER'],
  findProblems: async ({ values }) =>
    values.TOY_MAKER === 'none' ? ['TOY_MAKER is none: a toy has a maker.'] : [],
  nameOfMainnet: ({ network, isProduction }) =>
    network === 'toy-shop' && !isProduction ? 'LEDGER_NETWORK=toy-shop' : null,
  configure: (network, values) => ({
    family: 'toy' as const,
    name: network,
    secretKey: values.LEDGER_SECRET_KEY ?? '',
    maker: values.TOY_MAKER ?? '',
    speed: values.TOY_SPEED,
  }),

  walletFormat: { name: 'toy-payload', description: 'What toys sign.' },
  migrations: ['embedded-network'],
  async create({ name, maker, secretKey }, { handle }) {
    if (handle === null) throw new Error('the toy needs the database');
    const network = await createEmbeddedNetwork({ handle, secretKey, clock: systemClock, randomBytes });
    return {
      network: { ...network, name: `${name} by ${maker}` },
      clockControl: network,
      checkIdentity: null,
    };
  },
  async *check({ speed }) {
    yield speed === 'fast' ? pass('toy', speed) : warn('toy', speed, 'Wind it up.');
  },
  remedies: { toy: 'Set TOY_SPEED=fast.' },
  stale: null,
  recordCommands: null,
  channels: null,
});
