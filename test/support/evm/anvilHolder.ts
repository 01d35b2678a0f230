/**
 * A process that starts anvil, prints its URL, and holds it until the process is killed.
 */
import { startAnvil } from '../../../devnet/evm/anvil.ts';

const [stateFile = ''] = process.argv.slice(2);
const { url } = await startAnvil({ stateFile });
process.stdout.write(`${url}\n`);
