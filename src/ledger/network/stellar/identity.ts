/**
 * Verifies that a node belongs to the configured Stellar network, by its passphrase, and that the network has
 * a protocol that this adapter knows.
 */
import { checkOf, hostOf, WrongNetwork, type CheckIdentity, type NodeOptions } from '../nodeIdentity.ts';
import { createNode } from './node.ts';

/**
 * Since this protocol, a call restores the archived entries that it needs, and reading contract data costs no
 * fee. On an older one, the platform would declare too few resources, and could not restore entries.
 */
const LEAST_PROTOCOL = 23;

export function stellarIdentityCheck(options: NodeOptions & { passphrase: string }): CheckIdentity {
  const node = createNode(options);
  return checkOf(options, async () => {
    const { passphrase, protocolVersion } = await node.network();
    if (passphrase !== options.passphrase) {
      throw new WrongNetwork(
        `The node at ${hostOf(options)} is of the network ${JSON.stringify(passphrase)}, but ${JSON.stringify(options.passphrase)} ` +
          'is configured. Correct LEDGER_RPC_URL, or LEDGER_NETWORK and LEDGER_PASSPHRASE.',
      );
    }
    if (Number(protocolVersion) >= LEAST_PROTOCOL) return;
    throw new WrongNetwork(
      `The network of the node at ${hostOf(options)} has protocol ${JSON.stringify(protocolVersion)}, but this platform ` +
        `needs protocol ${LEAST_PROTOCOL} or later. Upgrade the network, or correct LEDGER_RPC_URL.`,
    );
  });
}
