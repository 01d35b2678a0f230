/**
 * The native asset's built-in contract: lumens of accounts, seen as a token.
 */
import { StrKey, xdr } from '@stellar/stellar-sdk';
import { withBalance } from '../accounts.ts';
import { contractFailure } from '../hostErrors.ts';
import type { ContractCode, Env } from '../host.ts';
import { accountKey } from '../ledgerKeys.ts';
import { asAddress, i128, string, u32, VOID } from '../values.ts';
import { argument, publishTransfer, reading, transferArguments } from './tokens.ts';

const BALANCE_ERROR = 10;
const ACCOUNT_MISSING_ERROR = 6;
const LUMEN_DECIMALS = 7;

export function nativeAssetCode(): ContractCode {
  return {
    balance: reading(1, (env, [id]) => i128(lumensOf(env, asAddress(argument(id))))),
    decimals: reading(0, () => u32(LUMEN_DECIMALS)),
    name: reading(0, () => string('native')),
    symbol: reading(0, () => string('native')),
    transfer: {
      arity: 3,
      run(env, args) {
        const [from, to, amount] = transferArguments(args);
        env.requireAuth(from);
        move(env, from, -amount);
        move(env, to, amount);
        publishTransfer(env, from, to, amount);
        return VOID;
      },
    },
  };
}

function lumensOf(env: Env, holder: string): bigint {
  if (!StrKey.isValidEd25519PublicKey(holder)) return 0n;
  return env.get(accountKey(holder))?.account().balance().toBigInt() ?? 0n;
}

function move(env: Env, holder: string, amount: bigint): void {
  if (!StrKey.isValidEd25519PublicKey(holder)) throw contractFailure(ACCOUNT_MISSING_ERROR);
  const key = accountKey(holder);
  const account = env.get(key)?.account();
  if (!account) throw contractFailure(ACCOUNT_MISSING_ERROR);
  const balance = account.balance().toBigInt() + amount;
  if (balance < 0n) throw contractFailure(BALANCE_ERROR);
  env.put(key, xdr.LedgerEntryData.account(withBalance(account, balance)));
}
