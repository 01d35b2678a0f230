/**
 * The declaration that each family of networks makes in the file `family.ts` of its folder: its names, its
 * settings, and what it provides. Everything outside the folder uses the declaration, and families.ts lists
 * them all.
 *
 * The configuration reads the declarations, so they import no library of a network and no adapter: their
 * methods load heavy modules when the network is used.
 */
import type * as z from 'zod';
import type { DatabaseHandle } from '../../db/connection.ts';
import type { MigrationSet } from '../../db/migrate.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Setting } from '../../lib/settingRules.ts';
import type { Check } from './check.ts';
import type { ChannelAccounts } from './channelAccounts.ts';
import type { CheckIdentity } from './nodeIdentity.ts';
import type { LedgerNetwork, UnixSeconds } from './port.ts';
import type { SeenLedgers } from './seenLedgers.ts';

/** Settings that families share, as parsed. */
export type SharedValues = {
  LEDGER_RPC_URL: string | undefined;
  LEDGER_FACTORY_ADDRESS: string | undefined;
  LEDGER_SETTLEMENT_FACTORY_ADDRESS: string | undefined;
  LEDGER_SECRET_KEY: string | undefined;
  LEDGER_TIMEOUT_MS: number;
  RAMP_SETTLEMENT_ADDRESS: string | undefined;
};

/**
 * A setting of one family alone, and its place in the table of settings: after the shared setting `after`.
 */
export type OwnSetting = Setting & { after?: keyof SharedValues };
export type OwnSettings = Readonly<Record<string, OwnSetting>>;
export type ValuesOf<Own extends OwnSettings> = SharedValues & {
  [Name in keyof Own]: z.output<Own[Name]['schema']>;
};

/**
 * The settings as parsed. A setting that breaks its own rule is reported already, and is missing in `values`.
 */
export interface GivenSettings<Own extends OwnSettings> {
  /** The value of LEDGER_NETWORK. */
  network: string;
  values: Partial<ValuesOf<Own>>;
  isProduction: boolean;
}

/** The configuration of a network, in plain values, so that it can be handed to another process. */
export interface ConfiguredLedger {
  /** The id of its family. */
  family: string;
  /** May contain a provider's key: never show it whole. */
  rpcUrl?: string;
}

/** Control of a development network's time. */
export interface ClockControl {
  /** Moves the network's time ahead for all instances, irreversibly. @returns the newest ledger's time */
  advanceClock(seconds: number): Promise<UnixSeconds>;
}

/** The configuration of a network that is asked through a node: the settings that families share. */
export interface NodeLedger extends ConfiguredLedger {
  name: string;
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

export interface CreatedNetwork {
  network: LedgerNetwork;
  /**
   * Why the part of the network's id that only the node shows is missing; undefined if none is, or the node
   * never shows it.
   */
  idProblem?: unknown;
  clockControl?: ClockControl | undefined;
  /** Asks the node which network it belongs to; null if there is no node. */
  checkIdentity: CheckIdentity | null;
}

interface NetworkDeps {
  /** The platform's database; null if it could not be opened, which does not stop `ledger:check`. */
  handle: DatabaseHandle | null;
  /** The ledgers that were final before this process began. */
  seenLedgers: () => Promise<SeenLedgers>;
  log: Logger;
}

/** The place of a retirement's record. */
export interface RecordPlace {
  tokenAddress: string;
  index: number;
  txHash: string | null;
}

export interface RecordCommand {
  /** A description of the command's output. */
  what: string;
  command: string;
}

/**
 * Commands of a network's own tools that read a record without this server, from a node of the reader's
 * choice.
 * @param networkId as the port gives it
 */
export type RecordCommands = (place: RecordPlace, networkId: string) => RecordCommand[];

export interface NetworkFamily<
  Id extends string = string,
  Name extends string = string,
  Own extends OwnSettings = OwnSettings,
  Ledger extends ConfiguredLedger = ConfiguredLedger,
> {
  id: Id;
  /** The networks' name in messages, such as "EVM chains". */
  title: string;
  /** The values of LEDGER_NETWORK that mean a network of this family. */
  names: readonly Name[];
  /** The names for the table of settings, with what distinguishes them. */
  namesDescription: string;
  settings: Own;
  /**
   * The node's protocol, for the table of settings; null if the family has neither a node nor a factory to
   * name.
   */
  node: { protocol: string; defaultUrl?: string } | null;
  /** The form of custody's key. `form` continues "must be …", `shown` is a short form of it. */
  secretKey: { pattern: RegExp; form: string; shown: string };
  /** The settings that a network of the family requires, shared ones included. */
  requiredSettings(network: string): readonly string[];
  /** Finds settings that are each valid but wrong together. No message repeats a secret. */
  findProblems(given: GivenSettings<Own>): Promise<readonly string[]>;
  /** The settings' name for a network that holds real money; null for other networks. */
  nameOfMainnet(given: GivenSettings<Own>): string | null;
  /** @param values without problems */
  configure(network: string, values: ValuesOf<Own>): Ledger;

  /**
   * The format that holders' wallets sign (`UnsignedTransaction.format`), and its description in the
   * contract.
   */
  walletFormat: { name: string; description: string };

  /**
   * Tables that a network needs in the platform's database. A network with its own tables has its state
   * there, and a restored database restores it too. The indexer inside the server (indexer/embedded) reads
   * the events in those of the embedded network.
   */
  migrations: readonly MigrationSet[];
  /** Asks the network only for what it needs. @throws Error */
  create(ledger: Ledger, deps: NetworkDeps): Promise<CreatedNetwork>;
  /** The checks of `ledger:check` that need more than the port. */
  check(ledger: Ledger): AsyncGenerator<Check>;
  /** Remedies for findings of `check` that depend on the family's settings, by the check's name. */
  remedies: Readonly<Record<string, string>>;
  /** How to judge a latest final ledger older than `afterSeconds`; null for a network with its own time. */
  stale: { afterSeconds: number; result: 'warn' | 'fail'; remedy: string } | null;
  /** Null if other people have no node to ask. */
  recordCommands: RecordCommands | null;
  /**
   * Accounts that lend their sequences, for `npm run ledger:channels`; null if the family does not use them.
   */
  channels: { open(ledger: Ledger): Promise<ChannelAccounts> } | null;
}

/** Whether the network's events are where the indexer inside the server reads them. */
export function hasEmbeddedIndexer({ migrations }: Pick<NetworkFamily, 'migrations'>): boolean {
  return migrations.includes('embedded-network');
}

/** Checks a declaration's type, and preserves its exact types. */
export function defineFamily<
  const Id extends string,
  const Name extends string,
  Own extends OwnSettings,
  Ledger extends ConfiguredLedger & { family: Id },
>(family: NetworkFamily<Id, Name, Own, Ledger>): NetworkFamily<Id, Name, Own, Ledger> {
  return family;
}
