/**
 * `npm run sealing:rotate`: seals every stored secret again under the first of SEALING_SECRETS.
 */
import { SingleBar } from 'cli-progress';
import { Command } from 'commander';
import { resealAll, type ResealReport } from '../db/reseal.ts';
import { createSealer } from '../lib/sealer.ts';
import { runCommand } from './runCommand.ts';
import { withDatabase } from './withDatabase.ts';

const command = new Command('sealing:rotate')
  .description(
    'Seals every stored secret anew under the first of SEALING_SECRETS. May run beside the server, be killed and be started ' +
      'again. Exits with 1 when an older key is still needed.',
  )
  .action(() =>
    withDatabase(async ({ db }, { sealingSecrets }) => {
      const bar = new SingleBar({ format: 'sealed anew {bar} {value} of {total}', clearOnComplete: true });
      if (process.stdout.isTTY) bar.start(0, 0);
      const onProgress = (done: number, total: number) => {
        if (!process.stdout.isTTY) process.stdout.write(`${done} of ${total} sealed anew\n`);
        bar.setTotal(total);
        bar.update(done);
      };
      const sealer = createSealer(sealingSecrets);
      const report = await resealAll({ db, sealer, onProgress }).finally(() => bar.stop());
      print(report, sealingSecrets.length > 1);
    }),
  );

await runCommand(command);

function print({ resealed, left, problems }: ResealReport, hasOtherKeys: boolean): void {
  const lines = [`${resealed} stored secrets were sealed anew.`, ...problems];
  const done = hasOtherKeys
    ? 'Every stored secret is sealed under the first of SEALING_SECRETS: keep the first, the others are no longer needed.'
    : 'SEALING_SECRETS is not set: every stored secret is sealed under APP_SECRET. To replace that key, set it as docs/operations.md ' +
      'says, and run this again.';
  lines.push(
    left === 0
      ? done
      : `${left} are still sealed under another key. Put that key into SEALING_SECRETS, start every instance with the same ` +
          'list, and run this again.',
  );
  process.stdout.write(`${lines.join('\n')}\n`);
  if (left > 0) process.exitCode = 1;
}
