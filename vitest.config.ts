/**
 * How the tests run: `unit` needs nothing but itself; the others share one PostgreSQL for the whole run, with
 * a database cloned from a template for each file. `npm test` runs all as one project
 * (test/support/run/main.ts).
 */
import { availableParallelism } from 'node:os';
import { defineConfig, type UserWorkspaceConfig as ProjectConfig } from 'vitest/config';
import { compiledSources } from './test/support/run/compiledSources.ts';
import { FileOrder } from './test/support/run/fileOrder.ts';
import { WHOLE_RUN } from './test/support/run/wholeRun.ts';

const needsPostgres = ['test/support/database/globalSetup.ts'];
const isWholeRun = process.env[WHOLE_RUN] !== undefined;

/** Files that mock a module need a registry of modules for themselves. */
const MOCKING = ['test/networks/registry/newFamily.test.ts'];

const project = (
  name: string,
  folder = name,
  more: ProjectConfig['test'] = { globalSetup: needsPostgres },
) => ({
  extends: true as const,
  plugins: [compiledSources()],
  test: { name, include: [`test/${folder}/**/*.test.ts`], exclude: MOCKING, ...more },
});

/**
 * They compute: more workers would load the product more often, and gain nothing. Projects with different
 * numbers of them take turns.
 */
const unit = { maxWorkers: availableParallelism() + 1, sequence: { groupOrder: 1 } };

/**
 * A project has its own server and workers, which compile the product anew: a whole run has one for nearly
 * all.
 */
const projects = isWholeRun
  ? [project('all', '{crash,integration,networks,unit}')]
  : [project('unit', 'unit', unit), project('integration'), project('networks'), project('crash')];

const mocking = {
  extends: true as const,
  test: { name: 'mocking', include: MOCKING, globalSetup: needsPostgres, isolate: true },
};

/** V8 as of Node 22 has no such option, and a process with an option that V8 does not know does not start. */
const optimisedLater = parseInt(process.versions.node) < 22 ? ['--interrupt-budget=600000'] : [];

export default defineConfig({
  // Vite would take graphql's ES modules, and Node its CommonJS: two copies don't know each other's errors.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    projects: [...projects, mocking],
    sequence: { sequencer: FileOrder },
    pool: 'forks',
    // Most code runs a few times in a test: compiled simply at once, instead of interpreted first, it takes
    // some 7 % less; optimised only after five times as much work as by default, 6 % less again.
    execArgv: ['--always-sparkplug', ...optimisedLater],
    // A worker keeps its modules from file to file: loading and compiling them anew takes a fifth of a run's
    // work.
    isolate: false,
    // Most tests wait for servers, nodes and processes of their own, so they need more workers than cores.
    maxWorkers: availableParallelism() + 4,
    // Real servers and processes start inside tests: slow machines need room, hangs still end.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What is polled for comes when it comes: the limit is for hangs alone, as above. Each look is a
    // statement or a request, so more of them a second take the processor from what they wait for.
    expect: { poll: { timeout: 30_000, interval: 100 } },
    reporters: [process.stdout.isTTY ? 'default' : './test/support/run/progress.ts'],
    coverage: { provider: 'v8', include: ['src/**/*.{ts,tsx}'], reporter: ['text-summary', 'html'] },
  },
});
