/**
 * The attacker's process: runs `attacker.ts <number of the attack> <url>` until it is killed.
 */
import { constants, setPriority } from 'node:os';
import { ATTACKS } from './attacks.ts';

// A real attacker has its own machine, so here it computes only when server and client do not.
setPriority(constants.priority.PRIORITY_LOW);
const [at, url] = process.argv.slice(2);
const attack = ATTACKS[Number(at)];
if (attack === undefined || url === undefined)
  throw new Error('usage: attacker.ts <number of the attack> <url>');
const ending = new AbortController();
process.once('SIGTERM', () => {
  ending.abort();
  setTimeout(() => process.exit(0), 500);
});
await attack.run(url, ending.signal);
process.exit(0);
