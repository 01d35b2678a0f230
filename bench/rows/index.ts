/**
 * All rows, in the order of the report.
 */
import type { Row } from '../row.ts';
import { expiryRows } from './expiry.ts';
import { feedRows } from './feed.ts';
import { growthRows } from './growth.ts';
import { httpRows } from './http.ts';
import { networkRows } from './networks.ts';
import { pageRows } from './pages.ts';
import { purchaseRows } from './purchase.ts';
import { registryRows } from './registry.ts';
import { retireRows } from './retire.ts';
import { startRows } from './start.ts';

export const ROWS: readonly Row[] = [
  ...purchaseRows,
  ...retireRows,
  ...networkRows,
  ...httpRows,
  ...feedRows,
  ...registryRows,
  ...expiryRows,
  ...growthRows,
  ...pageRows,
  ...startRows,
];
