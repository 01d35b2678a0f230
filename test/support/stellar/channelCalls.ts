/**
 * Calls that a channel sends and other accounts authorise. A test chooses which entries are signed.
 */
import { authorizeEntry, Operation, rpc } from '@stellar/stellar-sdk';
import type { Keypair, Transaction, xdr } from '@stellar/stellar-sdk';
import type { SorobanTestbed } from './testbed.ts';

/** Turns a simulated entry into the entry that is sent. */
export type SignEntry = (entry: xdr.SorobanAuthorizationEntry) => Promise<xdr.SorobanAuthorizationEntry>;

interface Call {
  contract: string;
  name: string;
  args: xdr.ScVal[];
}

export async function byChannel(
  { client }: SorobanTestbed,
  channel: Keypair,
  call: Call,
  sign: SignEntry,
): Promise<Transaction> {
  const source = await client.server.getAccount(channel.publicKey());
  const draft = client.build(source, call.contract, call.name, call.args);
  const simulated = await client.simulate(draft);
  const entries = await Promise.all((simulated.result?.auth ?? []).map(sign));
  return assembled(draft, simulated, entries, channel);
}

function assembled(
  draft: Transaction,
  simulated: rpc.Api.SimulateTransactionSuccessResponse,
  auth: xdr.SorobanAuthorizationEntry[],
  signer: Keypair,
): Transaction {
  const [operation] = draft.operations;
  if (operation?.type !== 'invokeHostFunction') throw new Error('A contract call was expected');
  const transaction = rpc
    .assembleTransaction(draft, simulated)
    .clearOperations()
    .addOperation(Operation.invokeHostFunction({ func: operation.func, auth }))
    .build();
  transaction.sign(signer);
  return transaction;
}

const VALID_LEDGERS = 100;

export function signedBy(testbed: SorobanTestbed, keys: Keypair): SignEntry {
  const { passphrase } = testbed.devnet;
  return (entry) => authorizeEntry(entry, keys, latestOf(testbed) + VALID_LEDGERS, passphrase);
}

function latestOf(testbed: SorobanTestbed): number {
  return testbed.devnet.controls.latest().sequence;
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
