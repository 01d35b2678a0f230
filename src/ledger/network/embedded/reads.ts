/**
 * Public reads of the contracts' state. One statement reads the state of each, so that it is of one moment of
 * the network.
 */
import { and, eq, getTableColumns, gte, lt, sql } from 'drizzle-orm';
import { QueryBuilder } from 'drizzle-orm/pg-core';
import type { Clock } from '../../../lib/clock.ts';
import type { Db } from '../../../db/connection.ts';
import { hotSelect } from '../../../db/hotQueries.ts';
import { NetworkRefusal, noTokenAt, refused } from '../port.ts';
import { requireRecordRange, requireTokenCount } from '../port/readLimits.ts';
import type {
  Address,
  CarbonTotals,
  ExpiryAnswer,
  LedgerNetwork,
  OffRampDeposit,
  RetirementPage,
  RetirementRecord,
  SettlementContract,
  TokenTemplate,
} from '../port.ts';
import { hashText } from './addresses.ts';
import { readLedgerClock } from './ledgerClock.ts';
import { offRamps, retirements, settlements, tokens } from './tables.ts';
import type { TokenState } from './world.ts';
import { findTokens } from './worldStore.ts';

export function createReads(db: Db, clock: Clock, settlementAddress: Address) {
  return {
    async carbonTotals(address) {
      return totalsOf(requireCarbonToken(await readToken(db, address), address));
    },

    retirementRecords: (address, fromIndex, limit) => readRecords(db, address, fromIndex, limit),

    async retirementCountsOf(addresses) {
      const found = await readTokens(db, addresses);
      return addresses.map((tokenAddress) => {
        const token = templateOrRefusal(found.get(tokenAddress) ?? null, tokenAddress, 'carbon-credit');
        if (token instanceof NetworkRefusal) return { tokenAddress, error: token };
        return { tokenAddress, totalRetirements: token.totalRetirements };
      });
    },

    async expiryOf(addresses) {
      const found = await readTokens(db, addresses);
      const { closedAt } = await readLedgerClock(db, clock);
      return addresses.map((tokenAddress): ExpiryAnswer => {
        const token = templateOrRefusal(found.get(tokenAddress) ?? null, tokenAddress, 'commodity');
        if (token instanceof NetworkRefusal) return { tokenAddress, error: token };
        const isExpired = token.expiryDate !== null && closedAt > token.expiryDate;
        return { tokenAddress, isExpired, status: token.status };
      });
    },

    settlementContract: () => readSettlement(db, settlementAddress),

    async offRampDeposit(contract, sessionId): Promise<OffRampDeposit | null> {
      const [row] = await db
        .select()
        .from(offRamps)
        .where(and(eq(offRamps.settlementAddress, contract), eq(offRamps.referenceId, hashText(sessionId))));
      if (!row) return null;
      const { depositor, tokenAddress, amount, status } = row;
      return { depositor, tokenAddress, amount, status };
    },
  } satisfies Partial<LedgerNetwork>;
}

/** @param admin its admin; null for any */
export async function readSettlement(
  db: Db,
  address: Address,
  admin: Address | null = null,
): Promise<SettlementContract | null> {
  const isWanted = and(
    eq(settlements.address, address),
    admin === null ? undefined : eq(settlements.admin, admin),
  );
  const [row] = await db.select().from(settlements).where(isWanted);
  return row ? { address: row.address, treasury: row.treasury, paused: row.paused } : null;
}

export async function readToken(db: Db, address: Address): Promise<TokenState | null> {
  const [row] = await findTokens(db, [address]);
  return row ?? null;
}

async function readTokens(db: Db, addresses: readonly Address[]): Promise<Map<Address, TokenState>> {
  requireTokenCount(addresses.length);
  if (addresses.length === 0) return new Map();
  const rows = await findTokens(db, addresses);
  return new Map(rows.map((row) => [row.address, row]));
}

const { tokenAddress: _, ...recordColumns } = getTableColumns(retirements);

/** Selects the token, joined with its records in the range. */
const selectRecords = hotSelect(
  new QueryBuilder()
    .select({ ...getTableColumns(tokens), ...recordColumns })
    .from(tokens)
    .leftJoin(
      retirements,
      and(
        eq(retirements.tokenAddress, tokens.address),
        // Compared as bigint, so that an index beyond 32 bits finds nothing instead of failing.
        gte(retirements.index, sql`${sql.placeholder('from')}::bigint`),
        lt(retirements.index, sql`${sql.placeholder('until')}::bigint`),
      ),
    )
    .where(eq(tokens.address, sql.placeholder('address')))
    .orderBy(retirements.index),
);

async function readRecords(
  db: Db,
  address: Address,
  fromIndex: number,
  limit: number,
): Promise<RetirementPage> {
  requireRecordRange(fromIndex, limit);
  const rows = await selectRecords(db, { address, from: fromIndex, until: fromIndex + limit });
  const token = requireCarbonToken(rows[0] ?? null, address);
  const records = rows.flatMap(({ index, retiredBy, amount, timestamp, beneficiary, note }) => {
    // A token without records in the range still has one row.
    if (index === null) return [];
    return [{ index, retiredBy, amount, timestamp, beneficiary, note } as RetirementRecord];
  });
  return { totals: totalsOf(token), records };
}

function totalsOf(token: TokenState): CarbonTotals {
  const { totalSupply, totalRetired, totalRetirements } = token;
  return { totalSupply, totalRetired, totalRetirements };
}

function requireCarbonToken(token: TokenState | null, address: Address): TokenState {
  const found = templateOrRefusal(token, address, 'carbon-credit');
  if (found instanceof NetworkRefusal) throw found;
  return found;
}

function templateOrRefusal(
  token: TokenState | null,
  address: Address,
  template: TokenTemplate,
): TokenState | NetworkRefusal {
  if (!token) return noTokenAt(address);
  if (token.template === template) return token;
  return refused('WRONG_TEMPLATE', `${address} is a ${token.template} token, not a ${template} token`);
}
