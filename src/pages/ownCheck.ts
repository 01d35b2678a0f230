/**
 * How to read a record without this server: commands of each network's own tools, to be run against a node of one's
 * choice.
 */
import type { Site } from './site.ts';

export interface Command {
  what: string;
  command: string;
}

export interface OwnCheck {
  explanation: string;
  commands: Command[];
}

interface Place {
  tokenAddress: string;
  index: number;
  txHash: string | null;
}

export function ownCheck({ network }: Site, place: Place): OwnCheck {
  if (network.name === 'embedded') {
    return {
      explanation:
        'This server runs on its embedded network, which is for trying out: it is no public ledger, and has no nodes of ' +
        'others that could be asked. On a real network the commands to do so stand here.',
      commands: [],
    };
  }
  const explanation =
    'Ask a node of the network that you trust, your own or a provider’s, and compare what it says with the certificate. ' +
    'The commands are those of the network’s own tools; RPC_URL is the address of the node.';
  return network.networkId.startsWith('eip155:')
    ? { explanation, commands: onEvm(place) }
    : { explanation, commands: onStellar(place, network.networkId) };
}

function onEvm({ tokenAddress, index, txHash }: Place): Command[] {
  return [
    {
      what: 'The record: burned from, amount in base units, time in Unix seconds, beneficiary, note',
      command: `cast call ${tokenAddress} 'getRetirement(uint256)((address,uint256,uint256,string,string))' ${index} --rpc-url "$RPC_URL"`,
    },
    {
      what: 'The number of records, which never falls',
      command: `cast call ${tokenAddress} 'totalRetirements()(uint256)' --rpc-url "$RPC_URL"`,
    },
    ...(txHash === null
      ? []
      : [
          {
            what: 'The transaction: its status must be 1',
            command: `cast receipt ${txHash} --rpc-url "$RPC_URL"`,
          },
        ]),
  ];
}

function onStellar({ tokenAddress, index, txHash: given }: Place, passphrase: string): Command[] {
  // Nodes take it without.
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

/** One word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
