/**
 * Commands that read a record with Foundry's cast.
 */
import type { RecordCommand, RecordPlace } from '../family.ts';

export function recordCommands({ tokenAddress, index, txHash }: RecordPlace): RecordCommand[] {
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
