/**
 * The product as a server that kills itself when it passes a crash point: CRASH_AT=<point>:<occurrence>.
 */
import './wrongClock.ts';
import { loadConfig } from '../src/config/config.ts';
import type { CrashPoint } from '../src/ledger/submission/submission.ts';
import { createLogger } from '../src/lib/logger.ts';
import { runProcess, runUntilStopped } from '../src/startup/runProcess.ts';
import { serve } from '../src/startup/serve.ts';

const [point, occurrence = '1'] = (process.env['CRASH_AT'] ?? '').split(':');
let passed = 0;

async function crashPoint(at: CrashPoint): Promise<void> {
  if (at === point && ++passed === Number(occurrence)) process.kill(process.pid, 'SIGKILL');
}

await runProcess(async () => {
  const config = await loadConfig();
  const log = createLogger({ level: config.LOG_LEVEL, pretty: false });
  await runUntilStopped(log, (stops) => serve({ config, log, stops, crashPoint }));
});
