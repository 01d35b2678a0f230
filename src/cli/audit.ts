/**
 * `npm run audit`: proves the invariants on the configured database and network, or names what is broken.
 */
import { SingleBar } from 'cli-progress';
import { Command } from 'commander';
import pc from 'picocolors';
import { audit, type AuditReport } from '../audit/audit.ts';
import { runCommand } from './runCommand.ts';
import { withPlatform } from './withPlatform.ts';

const command = new Command('audit')
  .description(
    'Compares books, network and feed, and proves the invariants. Exits with 1 when one is broken.',
  )
  .action(() =>
    withPlatform(async ({ dependencies }) => {
      const bar = new SingleBar({ format: 'audit {bar} {value} tokens', clearOnComplete: true });
      if (process.stdout.isTTY) bar.start(0, 0);
      const report = await audit(dependencies, (done) => {
        bar.setTotal(done);
        bar.update(done);
      });
      bar.stop();
      print(report);
    }),
  );

await runCommand(command);

function print(report: AuditReport): void {
  const { projects, receipts, findings } = report;
  const unsettled = report.unsettledProjects + report.unsettledReceipts;
  const out: string[] = findings.map(({ invariant, message }) => `${pc.red(invariant)}  ${message}`);
  if (unsettled > 0) out.push(pc.yellow(`${unsettled} had work under way; their sums were not compared.`));
  const verdict =
    findings.length === 0 ? pc.green('every invariant holds') : pc.red(count(findings.length, 'finding'));
  out.push(`${count(projects, 'project')} and ${count(receipts, 'receipt')} audited: ${verdict}`);
  process.stdout.write(`${out.join('\n')}\n`);
  process.exitCode = findings.length === 0 ? 0 : 1;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
