/**
 * The embedded network with operations that the port lacks: pauses, and transactions of holders other than
 * custody. All transactions are signed, and land like the platform's own.
 */
import type { ClockControl } from '../../src/ledger/network/family.ts';
import { factoryAddressOf } from '../../src/ledger/network/embedded/addresses.ts';
import { checkInvocation, type Invocation } from '../../src/ledger/network/embedded/calls.ts';
import {
  createEmbeddedNetwork as createNetwork,
  type EmbeddedNetworkOptions,
} from '../../src/ledger/network/embedded/network.ts';
import { signTransaction } from '../../src/ledger/network/embedded/signing.ts';
import { NetworkRefusal, type Address, type LedgerNetwork } from '../../src/ledger/network/port.ts';
import { keypairOf } from '../../src/lib/strkey.ts';

type Call<K extends Invocation['kind']> = Omit<Extract<Invocation, { kind: K }>, 'kind'>;

export type EmbeddedNetwork = LedgerNetwork & ClockControl & OtherCalls;

/** Calls that the port does not have. */
interface OtherCalls {
  readonly factoryAddress: Address;
  /** Pauses (with `false`: unpauses) a token or settlement contract that custody administers. */
  pauseToken(contractAddress: Address, paused?: boolean): Promise<string>;
  /** Transfers from custody's own balance. @returns the transaction's hash */
  transfer(tokenAddress: Address, to: Address, amount: bigint): Promise<string>;
  /** Returns a holder with the key `secretKey`, who signs with it. */
  createSigner(secretKey: string): {
    address: Address;
    transfer(call: Call<'transfer'>): Promise<string>;
    retire(call: Call<'retire'>): Promise<string>;
  };
}

export async function createEmbeddedNetwork(options: EmbeddedNetworkOptions): Promise<EmbeddedNetwork> {
  return withOtherCalls(await createNetwork(options), options);
}

/** @param options of the network */
export function withOtherCalls<Network extends LedgerNetwork>(
  network: Network,
  options: Pick<EmbeddedNetworkOptions, 'secretKey' | 'randomBytes'>,
): Network & OtherCalls {
  const { networkId } = network;

  /** @throws NetworkRefusal */
  async function submit(secretKey: string, call: Invocation): Promise<string> {
    const keypair = keypairOf(secretKey);
    const { closedAt, ledger } = await network.status();
    const sent = { source: keypair.address, validUntil: closedAt + 60n };
    const nonce = Buffer.from(options.randomBytes(16)).toString('hex');
    const signed = signTransaction({ ...sent, networkId, nonce, invocation: checkInvocation(call) }, keypair);
    const { hash } = signed;
    await network.broadcast(signed.signedBytes);
    const outcome = await network.outcome({ ...sent, hash, sequence: null, preparedAtLedger: ledger });
    if (outcome.status === 'refused') throw new NetworkRefusal(outcome.refusal);
    if (outcome.status !== 'succeeded') throw new Error(`${call.kind} ${hash} is ${outcome.status}`);
    return hash;
  }

  const { secretKey: custody } = options;
  return {
    ...network,
    factoryAddress: factoryAddressOf(networkId),
    pauseToken: (contractAddress, paused = true) =>
      submit(custody, { kind: 'setPaused', contractAddress, paused }),
    transfer: (tokenAddress, to, amount) => submit(custody, { kind: 'transfer', tokenAddress, to, amount }),
    createSigner: (secretKey) => ({
      address: keypairOf(secretKey).address,
      transfer: (call) => submit(secretKey, { kind: 'transfer', ...call }),
      retire: (call) => submit(secretKey, { kind: 'retire', ...call }),
    }),
  };
}
