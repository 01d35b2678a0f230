/**
 * Caps of issuance: how many kilograms of a commodity may be outstanding in receipts of a warehouse.
 */
import { sql } from 'drizzle-orm';
import { bigint, check, index, pgTable, text, unique, uuid } from 'drizzle-orm/pg-core';
import { moment } from './columns.ts';

export const issuanceCaps = pgTable(
  'issuance_caps',
  {
    id: uuid('id').primaryKey(),
    warehouseId: text('warehouse_id').notNull(),
    commodityType: text('commodity_type').notNull(),
    /** The same for spellings that differ in letter case or white space alone. */
    commodityKey: text('commodity_key').notNull(),
    limitKg: bigint('limit_kg', { mode: 'bigint' }).notNull(),
    setBy: text('set_by').notNull(),
    setAt: moment('set_at').notNull(),
  },
  (t) => [
    unique('issuance_caps_commodity').on(t.warehouseId, t.commodityKey),
    index('issuance_caps_set').on(t.setAt, t.id),
    check('issuance_caps_limit', sql`limit_kg > 0`),
  ],
);
