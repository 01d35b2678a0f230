/**
 * Compares the test contracts with the documented interface, signature by signature: the adapter's tests must
 * use what is deployed elsewhere.
 */
import { toEventSelector, toFunctionSelector } from 'viem';
import type { Abi, AbiParameter } from 'viem';
import { describe, expect, it } from 'vitest';
import { compileContracts } from '../../../../devnet/evm/compile.ts';
import type { ContractName } from '../../../../devnet/evm/compile.ts';
import {
  carbonTokenAbi,
  commodityTokenAbi,
  erc20ErrorsAbi,
  factoryAbi,
  guardedAbi,
  settlementAbi,
  settlementFactoryAbi,
} from '../../../../devnet/evm/referenceAbi.ts';

describe('the interface', () => {
  const interfaces: [ContractName, Abi][] = [
    ['TokenFactory', factoryAbi],
    ['CarbonCreditToken', [...carbonTokenAbi, ...guardedAbi, ...erc20ErrorsAbi]],
    ['CommodityReceiptToken', [...commodityTokenAbi, ...guardedAbi, ...erc20ErrorsAbi]],
    ['RampSettlement', [...settlementAbi, ...guardedAbi]],
    ['RampSettlementFactory', settlementFactoryAbi],
  ];

  it.each(interfaces)('%s has every function, event and error as documented', async (name, reference) => {
    const compiled = (await compileContracts())[name].abi.map(fingerprint);
    for (const item of reference) expect(compiled).toContain(fingerprint(item));
  });
});

/** Returns the encoded parts of an ABI item. */
function fingerprint(item: Abi[number]): string {
  switch (item.type) {
    case 'function':
      return `function ${toFunctionSelector(item)} ${item.stateMutability} → ${typesOf(item.outputs)}`;
    case 'event': {
      const indexed = item.inputs.map((input) => (input.indexed ? 'indexed' : 'data')).join();
      return `event ${toEventSelector(item)} ${indexed}`;
    }
    case 'error':
      return `error ${toFunctionSelector(`${item.name}(${typesOf(item.inputs)})`)}`;
    case 'constructor':
    case 'fallback':
    case 'receive':
      return item.type;
    default:
      return item satisfies never;
  }
}

function typesOf(parameters: readonly AbiParameter[]): string {
  return parameters
    .map((parameter) =>
      'components' in parameter
        ? parameter.type.replace('tuple', `(${typesOf(parameter.components)})`)
        : parameter.type,
    )
    .join();
}
