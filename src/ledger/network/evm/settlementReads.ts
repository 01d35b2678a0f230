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
import { NetworkRefusal } from '../port.ts';
import type { LedgerNetwork, NetworkCall, OffRampDeposit, Refusal, SettlementContract } from '../port.ts';
import { hashText, requireAddress } from './addresses.ts';
import { returned, wordIn, type ContractRead, type ReadAll, type ReadAnswer } from './contractReads.ts';
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

/** Statuses by number; 0 means that there is no deposit. */
const STATUSES: readonly (OffRampDeposit['status'] | null)[] = [
  null,
  'PENDING',
  'SETTLED',
  'REFUNDED',
  'RECORDED',
];

const pausedData = encodeFunctionData({ abi: optionalSettlementAbi, functionName: 'paused' });
const treasuryData = encodeFunctionData({ abi: optionalSettlementAbi, functionName: 'treasury' });

export function createSettlementReads(deps: SettlementReadDeps): SettlementReads {
  const { finality, contracts, readAll, deployments } = deps;
  const { settlement } = contracts;
  return {
    async settlementContract() {
      if (settlement === null) return null;
      return finality.onFinalBlock((pin) => readContract(deps, settlement, pin));
    },
    findSettlement: () =>
      finality.onFinalBlock(async (pin) => {
        const own = await deployments.ownSettlement(pin);
        return own === null ? null : readContract(deps, own, pin);
      }),
    async offRampDeposit(sessionId) {
      if (settlement === null) return null;
      const read = depositRead(settlement, sessionId);
      return finality.onFinalBlock(async (pin) => {
        const [answer] = await readAll(pin, [read]);
        if (answer?.kind === 'returned') return readDeposit(answer.data);
        if (answer?.kind === 'failed') throw answer.error;
        throw new NetworkRefusal({
          reason: 'CONTRACT_NOT_FOUND',
          message: `No settlement contract stands at ${settlement}`,
        });
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
  { rpc, readAll, deployments }: SettlementReadDeps,
  address: Address,
  pin: Pin,
): Promise<SettlementContract | null> {
  if ((await rpc.ask(ask.code(address, pin.state))) === '0x') return null;
  const [paused, treasury] = await readAll(pin, [
    { target: address, data: pausedData },
    { target: address, data: treasuryData },
  ]);
  return {
    address,
    treasury: addressIn(treasury) ?? (await deployments.treasuryOf(address, pin)),
    paused: isTrue(paused),
  };
}

function depositRead(settlement: Address, sessionId: string): ContractRead {
  const args = [hashText(sessionId) as Hex] as const;
  return {
    target: settlement,
    data: encodeFunctionData({ abi: settlementAbi, functionName: 'getOffRamp', args }),
  };
}

/** @throws if the contract's answer is not a deposit */
function readDeposit(data: Hex): OffRampDeposit | null {
  const { depositor, token, amount, status } = decodeFunctionResult({
    abi: settlementAbi,
    functionName: 'getOffRamp',
    data,
  });
  const named = STATUSES[status];
  if (named === undefined) throw new Error(`The settlement contract knows a status ${status}`);
  if (named === null) return null;
  return {
    depositor: requireAddress(depositor.toLowerCase()),
    tokenAddress: requireAddress(token.toLowerCase()),
    amount,
    status: named,
  };
}

/**
 * Checks the deposit's rules one by one, because without an allowance a simulated deposit would fail for that
 * first. A simulated transfer of the same amount to the contract tests the token's own rules.
 */
async function depositRefusalAt(
  deps: SettlementReadDeps,
  call: DepositCall,
  depositor: Address,
  at: BlockReference,
): Promise<Refusal | null> {
  const { rpc, finality, contracts } = deps;
  // Checks the arguments as for the deposit itself.
  const { to: settlement, involved } = encodeCall(contracts, depositor, call);
  const token = requireAddress(call.tokenAddress);
  const { amount, sessionId } = call;
  const deposit = depositRead(settlement, sessionId);
  const balanceData = encodeFunctionData({ abi: tokenAbi, functionName: 'balanceOf', args: [depositor] });
  const transfer = {
    to: token,
    data: encodeFunctionData({ abi: tokenAbi, functionName: 'transfer', args: [settlement, amount] }),
    mayCostFee: false,
    involved,
    errors: contracts.errors,
  };
  const simulation = simulationOf(call, transfer, depositor);
  // In one batch, so that one node answers all questions for one block.
  const [, depositAnswer, pausedAnswer, balanceAnswer, transferAnswer, ...codes] = await retryWhile(
    ([latest]) => at === 'latest' && finality.isBehind(latest),
    () =>
      rpc.askTogether([
        ask.block('latest'),
        ask.call({ to: deposit.target, data: deposit.data }, at),
        ask.call({ to: settlement, data: pausedData }, at),
        ask.call({ to: token, data: balanceData }, at),
        ask.call(simulation.request, at),
        ...codeQuestions(simulation, at),
      ]),
  );
  const balance = wordIn(returned(balanceAnswer));
  if (isTrue(returned(pausedAnswer))) {
    return { reason: 'PAUSED', message: `The settlement contract ${settlement} is paused` };
  }
  if (amount === 0n) return { reason: 'ZERO_AMOUNT', message: 'The amount is zero' };
  const used = returned(depositAnswer);
  if (used.kind === 'returned' && readDeposit(used.data) !== null) {
    return { reason: 'REFERENCE_ALREADY_USED', message: `The session ${sessionId} was deposited before` };
  }
  if (balance !== null && balance < amount) {
    return {
      reason: 'INSUFFICIENT_BALANCE',
      message: `${depositor} holds too little of ${token}: available ${balance}, requested ${amount}`,
    };
  }
  return judge(rpc, simulation, at, transferAnswer, codes);
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
