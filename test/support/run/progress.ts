/**
 * Progress for logs, where vitest's own progress window can't be drawn: each file with the number of finished
 * files, failures as soon as they happen, and at the end the slowest files.
 */
import { DefaultReporter, type TestModule, type TestSpecification } from 'vitest/node';

/** Number of slowest files that are shown. */
const SLOWEST = 10;

export default class Progress extends DefaultReporter {
  #files = 0;
  #done = 0;
  #startedAt = 0;

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    super.onTestRunStart(specifications);
    this.#files = specifications.length;
    this.#done = 0;
    this.#startedAt = performance.now();
  }

  override onTestModuleEnd(module: TestModule): void {
    super.onTestModuleEnd(module);
    this.#done += 1;
    const seconds = Math.round((performance.now() - this.#startedAt) / 1000);
    this.log(`   ${this.#done} of ${this.#files} files, ${seconds} s`);
  }

  override onTestRunEnd(...[modules, errors, reason]: Parameters<DefaultReporter['onTestRunEnd']>): void {
    super.onTestRunEnd(modules, errors, reason);
    if (modules.length > 1) this.#printSlowest(modules);
  }

  #printSlowest(modules: readonly TestModule[]): void {
    const timed = modules.map((module) => ({ module, ms: module.diagnostic().duration }));
    const slowest = timed.sort((a, b) => b.ms - a.ms).slice(0, SLOWEST);
    this.log(
      `Slowest: ${slowest.map(({ module, ms }) => `${module.relativeModuleId} ${Math.round(ms / 1000)} s`).join(', ')}`,
    );
  }
}
