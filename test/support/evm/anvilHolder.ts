/**
 * A process of its own that starts anvil, says where it is, and holds it until it is killed.
 */
import { startAnvil } from '../../../devnet/evm/anvil.ts';

const [stateFile = ''] = process.argv.slice(2);
const { url } = await startAnvil({ stateFile });
process.stdout.write(`${url}\n`);
