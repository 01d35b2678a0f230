/** Checks the books' own arithmetic and the signs of balances, not the purposes of the postings. */
import type { Db } from '../../../src/db/connection.ts';
import { BOOKS_CONTRADICTIONS } from '../../../src/reconciliation/contradictions/books.ts';
import { ROW_CONTRADICTIONS } from '../../../src/reconciliation/contradictions/rows.ts';
import { findContradictions } from '../../../src/reconciliation/findContradictions.ts';

export const findBookContradictions = (db: Db) =>
  findContradictions(db, [...BOOKS_CONTRADICTIONS, ...ROW_CONTRADICTIONS]);
