/**
 * Process entry: runs the configured server until a signal stops it.
 */
import { setFlagsFromString } from 'node:v8';
import { keepTickShape } from './startup/keepTickShape.ts';

// Modules are most of the memory that a start allocates, and an idle server would keep as much again. So V8's
// young generation does not grow while modules load, and this call comes first.
setFlagsFromString('--semi-space-growth-factor=1');
keepTickShape();
const { loadConfig } = await import('./config/config.ts');
const { createLogger } = await import('./lib/logger.ts');
const { runProcess, runUntilStopped } = await import('./startup/runProcess.ts');
const { serve } = await import('./startup/serve.ts');

await runProcess(async () => {
  const config = await loadConfig();
  const log = createLogger({ level: config.LOG_LEVEL, pretty: process.stdout.isTTY });
  await runUntilStopped(log, async (stops) => {
    await serve({ config, log, stops });
    // V8's default.
    setFlagsFromString('--semi-space-growth-factor=2');
  });
});
