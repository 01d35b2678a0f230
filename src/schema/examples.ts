/**
 * The operations that GraphiQL opens with, in the order in which a newcomer would try them.
 */
import { CARBON_EXAMPLES } from './carbon/examples.ts';
import { WALLET_EXAMPLES } from './wallets/examples.ts';
import { WAREHOUSE_EXAMPLES } from './warehouse/examples.ts';

export const GRAPHIQL_EXAMPLES: readonly string[] = [
  ...CARBON_EXAMPLES,
  ...WAREHOUSE_EXAMPLES,
  ...WALLET_EXAMPLES,
];
