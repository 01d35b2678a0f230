/**
 * What a family of networks declares of itself, in the one file `family.ts` of its folder: its names, its settings,
 * and what it brings. Everything outside of the folder asks the declaration, and families.ts lists them all.
 *
 * The configuration reads declarations, so they import no library of a network and no adapter: what is heavy is
 * loaded by the methods, by those who use the network.
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

/** Settings that families share, as they are read. */
export type SharedValues = {
  LEDGER_RPC_URL: string | undefined;
  LEDGER_FACTORY_ADDRESS: string | undefined;
  LEDGER_SETTLEMENT_FACTORY_ADDRESS: string | undefined;
  LEDGER_SECRET_KEY: string | undefined;
  LEDGER_TIMEOUT_MS: number;
  RAMP_SETTLEMENT_ADDRESS: string | undefined;
};

/** A setting of one family alone, and its place in the table of settings: after one that families share. */
export type OwnSetting = Setting & { after?: keyof SharedValues };
export type OwnSettings = Readonly<Record<string, OwnSetting>>;
export type ValuesOf<Own extends OwnSettings> = SharedValues & {
  [Name in keyof Own]: z.output<Own[Name]['schema']>;
};

/** The settings as read: one that breaks its own rule was named already, and is given but not in `values`. */
export interface GivenSettings<Own extends OwnSettings> {
  /** The value of LEDGER_NETWORK. */
  network: string;
  values: Partial<ValuesOf<Own>>;
  isProduction: boolean;
}

/** What a configured network needs, in plain values: it can be handed to another process. */
export interface ConfiguredLedger {
  /** The id of its family. */
  family: string;
  /** May hold a provider's key: never shown whole. */
  rpcUrl?: string;
}

/** Of a development network, whose time can be moved. */
export interface ClockControl {
  /** Moves the network's time ahead for all instances, irreversibly. @returns the new latest ledger's close time */
  advanceClock(seconds: number): Promise<UnixSeconds>;
}

/** A network that is asked through a node: the settings that its families share, as an adapter takes them. */
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

export interface CreatedNetwork {
  network: LedgerNetwork;
  /** Why a part of the network's id is missing that only the node shows; undefined when none is, or the node never shows it. */
  idProblem?: unknown;
  clockControl?: ClockControl | undefined;
  /** Asks the node which network it belongs to; null where there is no node. */
  checkIdentity: CheckIdentity | null;
}

interface NetworkDeps {
  /** The platform's database; null when it could not be opened, which `ledger:check` goes on without. */
  handle: DatabaseHandle | null;
  /** What was final before this process began. */
  seenLedgers: () => Promise<SeenLedgers>;
  log: Logger;
}

/** A retirement's record. */
export interface RecordPlace {
  tokenAddress: string;
  index: number;
  txHash: string | null;
}

export interface RecordCommand {
  /** What it shows. */
  what: string;
  command: string;
}

/**
 * Commands of a network's own tools, to read a record without this server against a node of the reader's choice.
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
  /** As messages call its networks: "EVM chains". */
  title: string;
  /** The values of LEDGER_NETWORK that mean one of its networks. */
  names: readonly Name[];
  /** The same for the table of settings, with what shows them apart. */
  namesDescription: string;
  settings: Own;
  /** How its node is asked, for the table of settings; null where there is no node and no factory to name. */
  node: { protocol: string; defaultUrl?: string } | null;
  /** Of custody's signer. `form` continues "must be …", `shown` is a short form of it. */
  secretKey: { pattern: RegExp; form: string; shown: string };
  /** The settings that one of its networks can't do without, shared ones included. */
  requiredSettings(network: string): readonly string[];
  /** Settings that are right by themselves and wrong together. No message repeats a secret. */
  findProblems(given: GivenSettings<Own>): Promise<readonly string[]>;
  /** How the settings name a network that holds real money; null for one for trying out. */
  nameOfMoney(given: GivenSettings<Own>): string | null;
  /** `values` are without problems. */
  configure(network: string, values: ValuesOf<Own>): Ledger;

  /** What holders' wallets sign: `UnsignedTransaction.format`, and how the contract describes it. */
  walletFormat: { name: string; description: string };

  /** Tables that a network needs in the platform's database. One with tables of its own lives there, and goes back with it. */
  migrations: readonly MigrationSet[];
  /** Asks nothing of the network that it can do without. @throws Error */
  create(ledger: Ledger, deps: NetworkDeps): Promise<CreatedNetwork>;
  /** What `ledger:check` checks beyond what the port can answer. */
  check(ledger: Ledger): AsyncGenerator<Check>;
  /** What to do about what `check` finds, by its name, where that depends on the family's settings. */
  remedies: Readonly<Record<string, string>>;
  /** What it means that the latest final ledger is older; null on a network whose time is its own. */
  stale: { afterSeconds: number; result: 'worse' | 'wrong'; remedy: string } | null;
  canDeploySettlement(ledger: Ledger): boolean;
  /** Whether it keeps its events where the indexer inside the server (indexer/embedded) reads them. */
  hasEmbeddedIndexer: boolean;
  /** Null where others have no node that could be asked. */
  recordCommands: RecordCommands | null;
  /** Accounts that lend their sequences, for `npm run ledger:channels`; null where there is no use for them. */
  channels: { open(ledger: Ledger): Promise<ChannelAccounts> } | null;
}

/** Checks a declaration, and keeps its exact types. */
export function defineFamily<
  const Id extends string,
  const Name extends string,
  Own extends OwnSettings,
  Ledger extends ConfiguredLedger & { family: Id },
>(family: NetworkFamily<Id, Name, Own, Ledger>): NetworkFamily<Id, Name, Own, Ledger> {
  return family;
}
