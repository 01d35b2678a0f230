/**
 * The operations that GraphiQL opens with, one tab each, in the order in which a newcomer would try them.
 * Each runs unchanged once those left of it have run.
 */
import type { GraphiqlExample } from './core/example.ts';
import { ACCESS_EXAMPLES } from './access/examples.ts';
import { CARBON_EXAMPLES } from './carbon/examples.ts';
import { WAREHOUSE_EXAMPLES } from './warehouse/examples.ts';

export const GRAPHIQL_EXAMPLES: readonly GraphiqlExample[] = [
  ...CARBON_EXAMPLES,
  ...WAREHOUSE_EXAMPLES,
  ...ACCESS_EXAMPLES,
];
