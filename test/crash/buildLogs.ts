/**
 * Builds the transparency logs of a database in a process that kills itself at the nth message to or from
 * PostgreSQL: instead of sending the message, or before reading it. logCrashes.test.ts runs it; it exits with
 * 0 when everything is built before that.
 */
import { Socket } from 'node:net';
import { openDatabase } from '../../src/db/connection.ts';
import { deriveKey } from '../../src/lib/sealer.ts';
import { createTransparencyLogs } from '../../src/transparency/logs.ts';

const [url = '', appSecret = '', networkId = '', killAt = ''] = process.argv.slice(2);

let messages = 0;
function pass(): void {
  messages += 1;
  if (messages === Number(killAt)) process.kill(process.pid, 'SIGKILL');
}

const { write, push } = Socket.prototype;
Socket.prototype.write = function (this: Socket, ...args: unknown[]) {
  pass();
  return Reflect.apply(write, this, args) as boolean;
};
Socket.prototype.push = function (this: Socket, chunk: unknown, ...args: []) {
  if (chunk !== null) pass();
  return push.call(this, chunk, ...args);
};

const handle = openDatabase({ url, poolSize: 2, applicationName: 'killed builder' });
const seed = deriveKey(appSecret, 'transparency logs');
// The logs already have their names in the database.
const origin = { first: '127.0.0.1/logs' };
await createTransparencyLogs({ db: handle.db, seed, origin, networkId }).catchUp();
process.exit(0);
