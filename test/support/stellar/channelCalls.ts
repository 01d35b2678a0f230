/**
 * Calls that a channel sends and other accounts authorise. A test chooses which entries are signed.
 */
import { rpc } from '@stellar/stellar-sdk';
import type { Keypair, Transaction, xdr } from '@stellar/stellar-sdk';
import type { SignEntry } from './client.ts';
import type { SorobanTestbed } from './testbed.ts';

export { signedBy, type SignEntry } from './client.ts';

interface Call {
  contract: string;
  name: string;
  args: xdr.ScVal[];
}

export function byChannel(
  { client }: SorobanTestbed,
  channel: Keypair,
  { contract, name, args }: Call,
  sign: SignEntry,
): Promise<Transaction> {
  return client.prepare(channel, contract, name, args, sign);
}

/** Returns the host's first error message for a call that landed and failed. */
export async function refusalOf(testbed: SorobanTestbed, transaction: Transaction): Promise<string> {
  const landed = await testbed.client.land(transaction);
  if (landed.status !== rpc.Api.GetTransactionStatus.FAILED) return landed.status;
  const texts = (landed.diagnosticEventsXdr ?? []).flatMap((event) => {
    const body = event.event().body().v0();
    const [topics, data] = [body.topics(), body.data()];
    if (topics[1]?.switch().name !== 'scvError') return [];
    const message = data.switch().name === 'scvVec' ? data.vec()?.[0] : data;
    return [Buffer.from(message?.str() ?? '').toString('utf8')];
  });
  return texts[0] ?? '';
}
