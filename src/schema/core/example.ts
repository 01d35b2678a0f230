/**
 * The parts of one of GraphiQL's ready-made operations.
 */
import type { Role } from '../../identity/roles.ts';

export interface GraphiqlExample {
  /** The role of the development token in its tab; null for the public. */
  role: Role | null;
  /** One named operation, below a comment that says what the operation does. */
  document: string;
  /** The variables, each by the path of its value in an earlier answer: "Operation.field.field". */
  variables?: Readonly<Record<string, string>>;
}
