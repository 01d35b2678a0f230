/**
 * What one of GraphiQL's ready-made operations consists of.
 */
import type { Role } from '../../identity/roles.ts';

export interface GraphiqlExample {
  /** Whose development token its tab begins with; null for the public. */
  role: Role | null;
  /** One operation with a name of its own, below a comment that says what it does. */
  document: string;
  /** The variables, each by where an earlier answer has its value: "Operation.field.field". */
  variables?: Readonly<Record<string, string>>;
}
