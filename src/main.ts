/**
 * Process entry: the configured server, until it is told to stop.
 */
import { loadConfig } from './config/config.ts';
import { createLogger } from './lib/logger.ts';
import { runProcess, runUntilStopped } from './startup/runProcess.ts';
import { serve } from './startup/serve.ts';

await runProcess(async () => {
  const config = await loadConfig();
  const log = createLogger({ level: config.LOG_LEVEL, pretty: process.stdout.isTTY });
  await runUntilStopped(log, (stops) => serve({ config, log, stops }));
});
