/**
 * A state that a clause of a contradiction's query distinguishes, and parts of the statements that make it.
 */
export interface ClauseCase {
  name: string;
  /** Statements that change at least one row each. */
  sql: string;
  /** Matches a sentence that a full and an incremental run say; each of them, where there are several. */
  says?: RegExp | readonly RegExp[];
  /** Matches no sentence: the state is allowed. */
  saysNot?: RegExp;
  /** An incremental run does not ask: what changed is gone, or is not the row that the sentence is about. */
  inFullAlone?: true;
}

/** The id of the first row. */
export const FIRST = (table: string, condition: string) =>
  `(SELECT id FROM ${table} WHERE ${condition} ORDER BY id LIMIT 1)`;
export const RETIRED = `(SELECT id FROM retirements WHERE state = 'RETIRED' ORDER BY record_index LIMIT 1)`;
export const HOLDERS_RETIREMENT = `(SELECT id FROM holder_acts WHERE kind = 'retire' AND record_index IS NOT NULL LIMIT 1)`;
export const accountOf = (buyer: string) =>
  `(SELECT id FROM accounts WHERE kind = 'buyer' AND owner_id = '${buyer}' ORDER BY id LIMIT 1)`;

/** Copies one row, with other values of some columns: names and values in turn, of the row `c`. */
export const copyOf = (table: string, condition: string, set: string) =>
  `INSERT INTO ${table} SELECT (jsonb_populate_record(c, jsonb_build_object(${set}))).* FROM ${table} c WHERE ${condition} LIMIT 1`;

/** The id of a project other than that of the column. */
export const OTHER_PROJECT = (column: string) =>
  `(SELECT id FROM projects WHERE id <> ${column} AND token_address IS NOT NULL LIMIT 1)`;
