/**
 * Transaction results in the network's own form.
 */
import { hash, xdr } from '@stellar/stellar-sdk';

/** Why a transaction is not taken, or lands without effect; named as the protocol names it. */
type RejectionCode =
  | 'txTooEarly'
  | 'txTooLate'
  | 'txMissingOperation'
  | 'txBadSeq'
  | 'txBadAuth'
  | 'txInsufficientBalance'
  | 'txNoAccount'
  | 'txInsufficientFee'
  | 'txBadAuthExtra'
  | 'txMalformed'
  | 'txSorobanInvalid';

/** What a node's validation says of a transaction that it does not take. */
export type Rejection = { code: RejectionCode } | { code: 'txFailed'; operation: xdr.OperationResult };

type InvokeFailure =
  | 'invokeHostFunctionTrapped'
  | 'invokeHostFunctionResourceLimitExceeded'
  | 'invokeHostFunctionEntryArchived'
  | 'invokeHostFunctionInsufficientRefundableFee';

export interface OperationOutcome {
  isSuccess: boolean;
  result: xdr.OperationResult;
}

export function rejectionResult(rejection: Rejection, feeCharged: bigint): xdr.TransactionResult {
  const result =
    rejection.code === 'txFailed'
      ? xdr.TransactionResultResult.txFailed([rejection.operation])
      : xdr.TransactionResultResult[rejection.code]();
  return transactionResult(feeCharged, result);
}

/** A fee bump is refused for what is wrong with the transaction inside it. */
export function innerRejectionResult(
  innerHash: string,
  rejection: Rejection,
  feeCharged: bigint,
): xdr.TransactionResult {
  const inner =
    rejection.code === 'txFailed'
      ? xdr.InnerTransactionResultResult.txFailed([rejection.operation])
      : xdr.InnerTransactionResultResult[rejection.code]();
  return transactionResult(
    feeCharged,
    xdr.TransactionResultResult.txFeeBumpInnerFailed(innerPair(innerHash, inner)),
  );
}

/** Of a transaction that landed. */
export function landedResult(
  landed: { innerHash: string; isFeeBump: boolean; feeCharged: bigint },
  outcomes: readonly OperationOutcome[],
): xdr.TransactionResult {
  const isSuccess = outcomes.every((outcome) => outcome.isSuccess);
  const operations = outcomes.map((outcome) => outcome.result);
  if (!landed.isFeeBump) {
    const result = isSuccess
      ? xdr.TransactionResultResult.txSuccess(operations)
      : xdr.TransactionResultResult.txFailed(operations);
    return transactionResult(landed.feeCharged, result);
  }
  const inner = isSuccess
    ? xdr.InnerTransactionResultResult.txSuccess(operations)
    : xdr.InnerTransactionResultResult.txFailed(operations);
  const pair = innerPair(landed.innerHash, inner);
  const result = isSuccess
    ? xdr.TransactionResultResult.txFeeBumpInnerSuccess(pair)
    : xdr.TransactionResultResult.txFeeBumpInnerFailed(pair);
  return transactionResult(landed.feeCharged, result);
}

export function invokeSuccess(value: xdr.ScVal, events: xdr.ContractEvent[]): OperationOutcome {
  const image = new xdr.InvokeHostFunctionSuccessPreImage({ returnValue: value, events });
  const result = xdr.InvokeHostFunctionResult.invokeHostFunctionSuccess(hash(image.toXDR()));
  return inner(true, xdr.OperationResultTr.invokeHostFunction(result));
}

export function invokeFailure(code: InvokeFailure): OperationOutcome {
  return inner(false, xdr.OperationResultTr.invokeHostFunction(xdr.InvokeHostFunctionResult[code]()));
}

export function restored(): OperationOutcome {
  const result = xdr.RestoreFootprintResult.restoreFootprintSuccess();
  return inner(true, xdr.OperationResultTr.restoreFootprint(result));
}

export function extended(): OperationOutcome {
  const result = xdr.ExtendFootprintTtlResult.extendFootprintTtlSuccess();
  return inner(true, xdr.OperationResultTr.extendFootprintTtl(result));
}

export function accountCreated(
  code:
    | 'createAccountSuccess'
    | 'createAccountUnderfunded'
    | 'createAccountLowReserve'
    | 'createAccountAlreadyExist',
): OperationOutcome {
  const result = xdr.CreateAccountResult[code]();
  return inner(code === 'createAccountSuccess', xdr.OperationResultTr.createAccount(result));
}

export function paid(
  code: 'paymentSuccess' | 'paymentUnderfunded' | 'paymentNoDestination' | 'paymentMalformed',
): OperationOutcome {
  return inner(code === 'paymentSuccess', xdr.OperationResultTr.payment(xdr.PaymentResult[code]()));
}

export function notSupported(): OperationOutcome {
  return { isSuccess: false, result: xdr.OperationResult.opNotSupported() };
}

function inner(isSuccess: boolean, result: xdr.OperationResultTr): OperationOutcome {
  return { isSuccess, result: xdr.OperationResult.opInner(result) };
}

function innerPair(
  innerHash: string,
  result: xdr.InnerTransactionResultResult,
): xdr.InnerTransactionResultPair {
  return new xdr.InnerTransactionResultPair({
    transactionHash: Buffer.from(innerHash, 'hex'),
    result: new xdr.InnerTransactionResult({
      // The fee source pays; nothing is charged to the inner transaction.
      feeCharged: new xdr.Int64(0),
      result,
      ext: new xdr.InnerTransactionResultExt(0),
    }),
  });
}

function transactionResult(feeCharged: bigint, result: xdr.TransactionResultResult): xdr.TransactionResult {
  return new xdr.TransactionResult({
    feeCharged: new xdr.Int64(feeCharged),
    result,
    ext: new xdr.TransactionResultExt(0),
  });
}
