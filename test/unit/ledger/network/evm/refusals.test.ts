import { encodeErrorResult, parseAbi } from 'viem';
import { expect, it } from 'vitest';
import { refusalOf } from '../../../../../src/ledger/network/evm/refusals.ts';

it('makes a reason with zeros in it one that can be stored', () => {
  const abi = parseAbi(['error Error(string message)']);
  const data = encodeErrorResult({ abi, args: ['ERC20: amount exceeds balance\u0000\u0000'] });
  expect(refusalOf({ data, message: '' }, [])).toEqual({
    reason: 'INSUFFICIENT_BALANCE',
    message: 'The contract refused the call: ERC20: amount exceeds balance\ufffd\ufffd',
  });
  expect(refusalOf({ data: '0x', message: 'reverted\u0000' }, []).message).toContain('(reverted\ufffd)');
});
