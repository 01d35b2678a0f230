/**
 * Reads the result of a landed call, only from the expected contract's events: any contract can log any
 * event.
 */
import { parseEventLogs } from 'viem';
import type { Address, Log as ViemLog } from 'viem';
import type { CallResult } from '../port.ts';
import { normalizeAddress } from './addresses.ts';
import { carbonTokenAbi, factoryAbi, functionCalled, settlementFactoryAbi } from './contracts.ts';
import type { Log, Receipt, Transaction } from './node.ts';

/** Null if the contract did not log the expected event: it is not one of the interface's contracts. */
export function resultOf(transaction: Transaction, receipt: Receipt): CallResult | null {
  const { to, from, input } = transaction;
  const logs = receipt.logs.filter((log) => isSame(log.address, to)).map(asViemLog);
  switch (functionCalled(input)) {
    case 'deployCarbonCreditToken':
    case 'deployCommodityReceiptToken': {
      const events = parseEventLogs({ abi: factoryAbi, eventName: 'TokenDeployed', logs });
      const ours = events.filter(({ args }) => isSame(args.deployer, from));
      return deployed(ours.map(({ args }) => args.tokenAddress));
    }
    case 'deployRampSettlement': {
      const events = parseEventLogs({
        abi: settlementFactoryAbi,
        eventName: 'RampSettlementDeployed',
        logs,
      });
      const ours = events.filter(({ args }) => isSame(args.deployer, from));
      return deployed(ours.map(({ args }) => args.settlementAddress));
    }
    case 'retire': {
      const events = parseEventLogs({ abi: carbonTokenAbi, eventName: 'CreditsRetired', logs });
      const [event, ...others] = events.filter(({ args }) => isSame(args.retiredBy, from));
      const index = Number(event?.args.retirementIndex ?? -1n);
      if (others.length > 0 || !Number.isSafeInteger(index) || index < 0) return null;
      return { kind: 'retired', retirementIndex: index };
    }
    default:
      return { kind: 'done' };
  }
}

function deployed(addresses: readonly Address[]): CallResult | null {
  const [address, ...others] = addresses;
  const contractAddress = address && normalizeAddress(address.toLowerCase());
  if (!contractAddress || others.length > 0) return null;
  return { kind: 'deployed', contractAddress };
}

export function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** The library reads only a log's topics and data. */
export function asViemLog(log: Log): ViemLog {
  const topics = log.topics as ViemLog['topics'];
  return { ...log, topics, logIndex: null, transactionIndex: null, removed: false };
}
