/**
 * The questions to an EVM node, and the schemas that its answers must match.
 */
import type { Address, Hash, Hex } from 'viem';
import * as z from 'zod';
import type { Question } from './jsonRpc.ts';

/**
 * A block as a state to ask about: by hash if the node supports that (EIP-1898), so that the answer is about
 * exactly this block or an error; by number otherwise.
 */
export type BlockReference = Hex | 'latest' | 'pending' | { blockHash: Hash; requireCanonical: true };

const quantity = z
  .string()
  .regex(/^0x[0-9a-f]{1,64}$/i)
  .transform(BigInt);
const hash = z.custom<Hash>((value) => typeof value === 'string' && /^0x[0-9a-f]{64}$/i.test(value));
const bytes = z.custom<Hex>((value) => typeof value === 'string' && /^0x([0-9a-f]{2})*$/i.test(value));
const address = z.custom<Address>((value) => typeof value === 'string' && /^0x[0-9a-f]{40}$/i.test(value));

const blockSchema = z.object({
  number: quantity,
  hash,
  timestamp: quantity,
  gasLimit: quantity,
  /** Absent before the London upgrade. */
  baseFeePerGas: quantity.optional(),
});
export type Block = z.infer<typeof blockSchema>;

const blockTransactionsSchema = z.object({
  number: quantity,
  hash,
  /** Some chains have further kinds of transactions, which have no nonce. */
  transactions: z.array(z.object({ hash, from: address, nonce: quantity.optional() })),
});

const logSchema = z.object({
  address,
  topics: z.array(hash).max(4),
  data: bytes,
  blockNumber: quantity,
  blockHash: hash,
  transactionHash: hash,
  removed: z.boolean().optional(),
});
export type Log = z.infer<typeof logSchema>;

const receiptSchema = z.object({
  transactionHash: hash,
  blockHash: hash,
  blockNumber: quantity,
  status: quantity.refine((status) => status === 0n || status === 1n),
  gasUsed: quantity,
  logs: z.array(logSchema),
});
export type Receipt = z.infer<typeof receiptSchema>;

const transactionSchema = z.object({
  hash,
  from: address,
  /** A transaction without it makes a contract; neither the platform nor its holders send one. */
  to: address,
  input: bytes,
  nonce: quantity,
  gas: quantity,
  value: quantity,
});
export type Transaction = z.infer<typeof transactionSchema>;

/** False, or the node's progress, which not all nodes give in the same form. */
const syncingSchema = z.union([
  z.literal(false),
  z.object({ currentBlock: quantity, highestBlock: quantity }),
  z.unknown().transform((): { currentBlock?: bigint; highestBlock?: bigint } => ({})),
]);
export type Syncing = z.infer<typeof syncingSchema>;

const byNonce = z.record(z.string().regex(/^(0x[0-9a-fA-F]+|[0-9]+)$/), z.unknown());
/**
 * The nonces of the transactions in a node's pools: `pending` ones can land, `queued` ones wait behind a
 * missing nonce, and some nodes have another pool for underpriced ones. Nodes write nonces as decimals or as
 * quantities.
 */
const waitingSchema = z
  .looseObject({ pending: byNonce, queued: byNonce })
  .transform((pools) =>
    Object.values(pools).flatMap((pool) => Object.keys(byNonce.safeParse(pool).data ?? {}).map(BigInt)),
  );

export interface CallRequest {
  from?: Address;
  to: Address;
  data: Hex;
  value?: bigint;
}

export function quantityOf(value: bigint): Hex {
  return `0x${value.toString(16)}`;
}

function question<T>(method: string, params: readonly unknown[], schema: z.ZodType<T>): Question<T> {
  return { method, params, read: (result) => schema.parse(result) };
}

function requestOf({ from, to, data, value }: CallRequest): Record<string, string> {
  return {
    ...(from === undefined ? {} : { from }),
    to,
    data,
    ...(value === undefined || value === 0n ? {} : { value: quantityOf(value) }),
  };
}

export const ask = {
  chainId: () => question('eth_chainId', [], quantity),
  syncing: () => question('eth_syncing', [], syncingSchema),
  block: (at: bigint | 'latest' | 'finalized') =>
    question(
      'eth_getBlockByNumber',
      [typeof at === 'bigint' ? quantityOf(at) : at, false],
      blockSchema.nullable(),
    ),
  transactionsOf: (number: bigint) =>
    question('eth_getBlockByNumber', [quantityOf(number), true], blockTransactionsSchema.nullable()),
  receipt: (of: Hash) => question('eth_getTransactionReceipt', [of], receiptSchema.nullable()),
  transaction: (of: Hash) => question('eth_getTransactionByHash', [of], transactionSchema.nullable()),
  transactionCount: (of: Address, at: BlockReference) =>
    question('eth_getTransactionCount', [of, at], quantity),
  /** The waiting nonces. As a rule, only self-hosted nodes have this method. */
  waitingOf: (of: Address) => question('txpool_contentFrom', [of], waitingSchema),
  balance: (of: Address, at: BlockReference) => question('eth_getBalance', [of, at], quantity),
  code: (of: Address, at: BlockReference) => question('eth_getCode', [of, at], bytes),
  call: (request: CallRequest, at: BlockReference) => question('eth_call', [requestOf(request), at], bytes),
  gasFor: (request: CallRequest, at: BlockReference) =>
    question('eth_estimateGas', [requestOf(request), at], quantity),
  priorityFee: () => question('eth_maxPriorityFeePerGas', [], quantity),
  send: (signed: Hex) => question('eth_sendRawTransaction', [signed], hash),
  logs: (filter: { address: Address; topics: readonly (Hex | null)[]; from: bigint; to: bigint }) =>
    question(
      'eth_getLogs',
      [
        {
          address: filter.address,
          topics: filter.topics,
          fromBlock: quantityOf(filter.from),
          toBlock: quantityOf(filter.to),
        },
      ],
      z.array(logSchema).transform((logs) => logs.filter((log) => log.removed !== true)),
    ),
};
