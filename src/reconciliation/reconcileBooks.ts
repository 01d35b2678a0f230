/**
 * The books' own arithmetic, independent of what the postings are for.
 */
import type { Db } from '../db/connection.ts';
import { BOOKS_CONTRADICTIONS } from './contradictions/books.ts';
import { findContradictions } from './findContradictions.ts';
import type { Finding } from './verdicts.ts';

export async function reconcileBooks(db: Db): Promise<Finding[]> {
  return findContradictions(db, BOOKS_CONTRADICTIONS);
}
