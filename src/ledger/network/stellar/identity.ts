/**
 * Verifies that a node belongs to the configured Stellar network, by its passphrase.
 */
import { checkOf, hostOf, WrongNetwork, type CheckIdentity, type NodeOptions } from '../nodeIdentity.ts';
import { createNode } from './node.ts';

export function stellarIdentityCheck(options: NodeOptions & { passphrase: string }): CheckIdentity {
  const node = createNode(options);
  return checkOf(options, async () => {
    const reported = await node.passphrase();
    if (reported === options.passphrase) return;
    throw new WrongNetwork(
      `The node at ${hostOf(options)} is of the network ${JSON.stringify(reported)}, but ${JSON.stringify(options.passphrase)} ` +
        'is configured. Correct LEDGER_RPC_URL, or LEDGER_NETWORK and LEDGER_PASSPHRASE.',
    );
  });
}
