/**
 * Prints the demo: numbered steps with their durations, facts below them, and live events in between.
 */
import pc from 'picocolors';

export interface Narrator {
  chapter(title: string): void;
  /** Shows the step while it runs, and then its duration. */
  step<T>(title: string, work: () => Promise<T>): Promise<T>;
  fact(name: string, value: string): void;
  live(text: string): void;
}

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const SPINNER_MS = 80;

export function createNarrator(out: NodeJS.WriteStream): Narrator {
  let steps = 0;
  let spinning: NodeJS.Timeout | undefined;
  const clearLine = () => {
    if (spinning && out.isTTY) out.write('\r\u001b[2K');
  };
  const print = (line: string) => {
    clearLine();
    out.write(`${line}\n`);
  };

  return {
    chapter: (title) => print(`\n${pc.bold(pc.underline(title))}`),
    async step(title, work) {
      steps += 1;
      const label = `${String(steps).padStart(2)}  ${title}`;
      const startedMs = performance.now();
      let frame = 0;
      if (out.isTTY) {
        spinning = setInterval(() => {
          out.write(`\r${pc.cyan(SPINNER[frame++ % SPINNER.length] ?? '')} ${label}`);
        }, SPINNER_MS);
      }
      try {
        const result = await work();
        clearLine();
        clearInterval(spinning);
        spinning = undefined;
        print(`${pc.green('✔')} ${label} ${pc.dim(`${Math.round(performance.now() - startedMs)} ms`)}`);
        return result;
      } catch (error) {
        clearLine();
        clearInterval(spinning);
        spinning = undefined;
        print(`${pc.red('✘')} ${label}`);
        throw error;
      }
    },
    fact: (name, value) => print(`       ${pc.dim(name.padEnd(14))} ${value}`),
    live: (text) => print(`  ${pc.magenta('◉ live')}  ${text}`),
  };
}
