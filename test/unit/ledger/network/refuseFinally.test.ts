/**
 * Conditions under which a refusal at the latest block is final.
 */
import { expect, it } from 'vitest';
import type { Finality, Pin } from '../../../../src/ledger/network/evm/finality.ts';
import { refuseFinally } from '../../../../src/ledger/network/evm/simulation.ts';
import { ChainReorganised, NetworkRefusal, NetworkUnavailable } from '../../../../src/ledger/network/port.ts';

const PAUSED = { reason: 'PAUSED', message: 'the token is paused' } as const;

const finalityAt = (rewritten: string | null): Pick<Finality, 'onFinalBlock'> => ({
  onFinalBlock: (work) => work({ rewritten } as Pin),
});

it('is one when the final block refuses for the same reason', async () => {
  await expect(refuseFinally(finalityAt(null), PAUSED, async () => PAUSED)).rejects.toThrow(NetworkRefusal);
  await expect(refuseFinally(finalityAt(null), PAUSED, async () => null)).rejects.toThrow(NetworkUnavailable);
});

it('is none on a chain that contradicts what was final', async () => {
  const message = 'Block 7 was final as 0x1, and is 0x2';
  const refusing = refuseFinally(finalityAt(message), PAUSED, async () => PAUSED);
  await expect(refusing).rejects.toThrow(ChainReorganised);
  await expect(refusing).rejects.toThrow(message);
});
