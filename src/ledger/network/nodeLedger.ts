/**
 * What is configured of every network that is asked through a node: the settings that its families share, as an adapter
 * takes them.
 */
import type { ConfiguredLedger, SharedValues } from './family.ts';

export interface NodeLedger extends ConfiguredLedger {
  name: string;
  /** May hold a provider's key: never shown whole. */
  rpcUrl: string;
  secretKey: string;
  factoryAddress: string;
  settlementFactoryAddress: string | undefined;
  settlementAddress: string | undefined;
  requestTimeoutMs: number;
}

export function configureNode(network: string, values: SharedValues): Omit<NodeLedger, 'family'> {
  return {
    name: network,
    rpcUrl: values.LEDGER_RPC_URL ?? '',
    secretKey: values.LEDGER_SECRET_KEY ?? '',
    factoryAddress: values.LEDGER_FACTORY_ADDRESS ?? '',
    settlementFactoryAddress: values.LEDGER_SETTLEMENT_FACTORY_ADDRESS,
    settlementAddress: values.RAMP_SETTLEMENT_ADDRESS,
    requestTimeoutMs: values.LEDGER_TIMEOUT_MS,
  };
}
