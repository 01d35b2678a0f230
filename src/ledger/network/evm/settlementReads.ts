/**
 * Public reads of the settlement contract, and whether it would accept a deposit.
 *
 * Its interface promises no way to read the pause and the treasury, so both are read by their customary
 * names. A contract without `paused()` counts as running (a simulated deposit shows otherwise). Without
 * `treasury()`, the treasury comes from the configured factory's event, if that factory deployed the
 * contract.
 */
import { decodeFunctionResult, encodeFunctionData } from 'viem';
import type { Address, Hex } from 'viem';
import { retryWhile } from '../retryWhile.ts';
import { refused } from '../port.ts';
import { DEPOSIT_STATUSES } from '../port/tokens.ts';
import type { LedgerNetwork, NetworkCall, OffRampDeposit, Refusal, SettlementContract } from '../port.ts';
import { hashText, requireAddress } from './addresses.ts';
import { wordIn, type ReadAll, type ReadAnswer } from './contractReads.ts';
import { optionalSettlementAbi, settlementAbi, tokenAbi } from './contracts.ts';
import type { ContractAddresses } from './contracts.ts';
import type { Deployments } from './deployments.ts';
import { encodeCall } from './calls.ts';
import type { Finality, Pin } from './finality.ts';
import type { JsonRpc } from './jsonRpc.ts';
import { ask } from './node.ts';
import type { BlockReference } from './node.ts';
import { codeQuestions, judge, refuseFinally, simulationOf } from './simulation.ts';

interface SettlementReadDeps {
  rpc: JsonRpc;
  finality: Finality;
  contracts: ContractAddresses;
  readAll: ReadAll;
  deployments: Deployments;
}

type SettlementReads = Pick<
  LedgerNetwork,
  'settlementContract' | 'findSettlement' | 'offRampDeposit' | 'checkDeposit'
>;

type DepositCall = Extract<NetworkCall, { kind: 'depositOffRamp' }>;

const pausedData = encodeFunctionData({ abi: optionalSettlementAbi, functionName: 'paused' });
const treasuryData = encodeFunctionData({ abi: optionalSettlementAbi, functionName: 'treasury' });

export function createSettlementReads(deps: SettlementReadDeps): SettlementReads {
  const { finality, contracts, readAll, deployments } = deps;
  const { settlement } = contracts;
  return {
    async settlementContract() {
      if (settlement === null) return null;
      return finality.onFinalBlock((pin) =>
        readContract(deps, settlement, pin, () => deployments.treasuryInUse(pin)),
      );
    },
    findSettlement: () =>
      finality.onFinalBlock(async (pin) => {
        const own = await deployments.ownSettlement(pin);
        if (!own?.settlement) return null;
        return readContract(deps, own.settlement, pin, () => own.treasury);
      }),
    async offRampDeposit(settlementAddress, sessionId) {
      const target = requireAddress(settlementAddress);
      const args = [hashText(sessionId)] as const;
      const data = encodeFunctionData({ abi: settlementAbi, functionName: 'getOffRamp', args });
      return finality.onFinalBlock(async (pin) => {
        const [answer] = await readAll(pin, [{ target, data }]);
        if (answer?.kind === 'returned') return readDeposit(answer.data);
        if (answer?.kind === 'failed') throw answer.error;
        // Where no contract stands, no reference was used.
        if (answer?.kind === 'nothing') return null;
        throw refused('WRONG_TEMPLATE', `${target} is no settlement contract`);
      });
    },
    async checkDeposit(call, depositor) {
      const sender = requireAddress(depositor, 'OTHER');
      const refusal = await depositRefusalAt(deps, call, sender, 'latest');
      if (!refusal) return;
      await refuseFinally(finality, refusal, (state) => depositRefusalAt(deps, call, sender, state));
    },
  };
}

async function readContract(
  { rpc, readAll }: SettlementReadDeps,
  address: Address,
  pin: Pin,
  treasuryInEvent: () => Promise<Address | null> | Address | null,
): Promise<SettlementContract | null> {
  if ((await rpc.ask(ask.code(address, pin.state))) === '0x') return null;
  const [paused, treasury] = await readAll(pin, [
    { target: address, data: pausedData },
    { target: address, data: treasuryData },
  ]);
  return {
    address,
    treasury: addressIn(treasury) ?? (await treasuryInEvent()),
    paused: isTrue(paused),
  };
}

/** @throws if the contract's answer is not a deposit */
function readDeposit(data: Hex): OffRampDeposit | null {
  const { depositor, token, amount, status } = decodeFunctionResult({
    abi: settlementAbi,
    functionName: 'getOffRamp',
    data,
  });
  if (status === 0) return null;
  const named = DEPOSIT_STATUSES[status - 1];
  if (named === undefined) throw new Error(`The settlement contract knows a status ${status}`);
  return {
    depositor: requireAddress(depositor.toLowerCase()),
    tokenAddress: requireAddress(token.toLowerCase()),
    amount,
    status: named,
  };
}

/**
 * The contract's own answer to the deposit. As a rule it refuses for want of an allowance, in whatever words:
 * then a transfer of the same amount to the contract tests the token's own rules.
 */
async function depositRefusalAt(
  { rpc, finality, contracts }: SettlementReadDeps,
  call: DepositCall,
  depositor: Address,
  at: BlockReference,
): Promise<Refusal | null> {
  const encoded = encodeCall(contracts, depositor, call);
  const args = [encoded.to, call.amount] as const;
  const transferData = encodeFunctionData({ abi: tokenAbi, functionName: 'transfer', args });
  const encodedTransfer = { ...encoded, to: requireAddress(call.tokenAddress), data: transferData };
  const deposit = simulationOf(encoded, depositor);
  const transfer = simulationOf(encodedTransfer, depositor);
  // In one batch, so that one node answers all questions for one block.
  const [, depositAnswer, transferAnswer, ...codes] = await retryWhile(
    ([latest]) => at === 'latest' && finality.isBehind(latest),
    () =>
      rpc.askTogether([
        ask.block('latest'),
        ask.call(deposit.request, at),
        ask.call(transfer.request, at),
        ...codeQuestions(deposit, at),
      ]),
  );
  const refusal = await judge(rpc, deposit, at, depositAnswer, codes);
  const mayBeAllowance = refusal?.reason === 'INSUFFICIENT_ALLOWANCE' || refusal?.reason === 'OTHER';
  return mayBeAllowance ? judge(rpc, transfer, at, transferAnswer, codes) : refusal;
}

function isTrue(answer: ReadAnswer | undefined): boolean {
  if (answer?.kind === 'failed') throw answer.error;
  return wordIn(answer) === 1n;
}

function addressIn(answer: ReadAnswer | undefined): Address | null {
  if (answer?.kind === 'failed') throw answer.error;
  const word = answer?.kind === 'returned' ? /^0x0{24}([0-9a-f]{40})$/i.exec(answer.data) : null;
  return word ? requireAddress(`0x${word[1]}`.toLowerCase()) : null;
}
