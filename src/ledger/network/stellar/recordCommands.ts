/**
 * Commands that read a record with the Stellar CLI, and its transaction with curl.
 */
import type { RecordCommand, RecordPlace } from '../family.ts';

export function recordCommands(
  { tokenAddress, index, txHash: given }: RecordPlace,
  passphrase: string,
): RecordCommand[] {
  // Nodes take hashes without 0x.
  const txHash = given?.replace(/^0x/, '') ?? null;
  return [
    {
      what: 'The record (ACCOUNT is any account that exists; nothing is sent)',
      command: `stellar contract invoke --id ${tokenAddress} --source-account "$ACCOUNT" --send=no --rpc-url "$RPC_URL" --network-passphrase ${quoted(passphrase)} -- get_retirement --index ${index}`,
    },
    ...(txHash === null
      ? []
      : [
          {
            what: 'The transaction: its status must be SUCCESS (nodes keep transactions for days only)',
            command: `curl -s "$RPC_URL" -H 'content-type: application/json' -d '{"jsonrpc":"2.0","id":1,"method":"getTransaction","params":{"hash":"${txHash}"}}'`,
          },
        ]),
  ];
}

/** Quotes the text as one word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
