/**
 * `npm run audit`: proves the invariants on the configured database and network, or names what is broken.
 */
import { SingleBar } from 'cli-progress';
import { Command } from 'commander';
import pc from 'picocolors';
import { audit, type AuditReport } from '../audit/audit.ts';
import { composePlatform } from '../compose.ts';
import { loadConfig } from '../config.ts';
import { createLogger } from '../logger.ts';
import { openConfiguredDatabase } from '../openDatabase.ts';
import { openConfiguredNetwork } from '../openNetwork.ts';
import { warehouseOptionsOf } from '../warehouseOptions.ts';
import { runCommand } from './runCommand.ts';

const command = new Command('audit')
  .description(
    'Compares books, network and feed, and proves the invariants. Exits with 1 when one is broken.',
  )
  .action(async () => {
    const config = await loadConfig();
    const database = await openConfiguredDatabase(config);
    try {
      const network = await openConfiguredNetwork(config, database.handle);
      const platform = await composePlatform({
        handle: database.handle,
        network,
        // An audit reads; it registers nothing and waits for nothing.
        indexerUrl: config.INDEXER_URL ?? config.PUBLIC_URL,
        publicUrl: config.PUBLIC_URL,
        appSecret: config.APP_SECRET,
        ...warehouseOptionsOf(config),
        mutationWaitMs: 0,
        healIntervalMs: config.HEAL_INTERVAL_MS,
        log: createLogger({ level: 'warn', pretty: true }),
      });
      const bar = new SingleBar({ format: 'audit {bar} {value} tokens', clearOnComplete: true });
      if (process.stdout.isTTY) bar.start(0, 0);
      const report = await audit(platform.dependencies, (done) => {
        bar.setTotal(done);
        bar.update(done);
      });
      bar.stop();
      await platform.stop();
      print(report);
    } finally {
      await database.stop();
    }
  });

await runCommand(command);

function print(report: AuditReport): void {
  const { projects, receipts, findings } = report;
  const unsettled = report.unsettledProjects + report.unsettledReceipts;
  const out: string[] = findings.map(({ invariant, message }) => `${pc.red(invariant)}  ${message}`);
  if (unsettled > 0) out.push(pc.yellow(`${unsettled} had work under way; their sums were not compared.`));
  const verdict =
    findings.length === 0 ? pc.green('every invariant holds') : pc.red(`${findings.length} findings`);
  out.push(`${projects} projects and ${receipts} receipts audited: ${verdict}`);
  process.stdout.write(`${out.join('\n')}\n`);
  process.exitCode = findings.length === 0 ? 0 : 1;
}
