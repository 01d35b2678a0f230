/**
 * Caps of issuance: the most kilograms of a commodity that may be outstanding in receipts of a warehouse.
 */
import { sql } from 'drizzle-orm';
import { bigint, check, index, integer, pgTable, primaryKey, text, unique, uuid } from 'drizzle-orm/pg-core';
import { moment } from './columns.ts';

/**
 * The limits that were set for a commodity of a warehouse, oldest first; the last one is in force.
 * Append-only, so that the cap under which a receipt was issued stays known. A rule of the database keeps the
 * id the same in all rows of one commodity.
 */
export const issuanceCaps = pgTable(
  'issuance_caps',
  {
    id: uuid('id').notNull(),
    warehouseId: text('warehouse_id').notNull(),
    commodityType: text('commodity_type').notNull(),
    /** One key for all spellings of the commodity (resolvers/core/spellingKey.ts). */
    commodityKey: text('commodity_key').notNull(),
    /** Number in the history of the commodity at the warehouse, from 1 without gaps. */
    number: integer('number').notNull(),
    /** Null if the cap was removed. */
    limitKg: bigint('limit_kg', { mode: 'bigint' }),
    /** The caller's subject. */
    setBy: text('set_by').notNull(),
    setAt: moment('set_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.id, t.number] }),
    unique('issuance_caps_number').on(t.warehouseId, t.commodityKey, t.number),
    index('issuance_caps_set').on(t.setAt, t.id),
    check('issuance_caps_limit', sql`limit_kg > 0`),
  ],
);
