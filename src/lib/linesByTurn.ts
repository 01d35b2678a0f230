/**
 * Writes the lines of one turn of the event loop together: under load a system call for each line takes a
 * sixth of a small request's time, and a turn brings many lines.
 *
 *   line, line, line ─▶ end of the turn, or MAX_CHARACTERS ─▶ one write
 *
 * A process that is killed loses the lines of its last turn. Facts that must not be lost are in the database.
 */

/** Longer text in one turn is written in pieces, so that a burst takes no more memory than this. */
const MAX_CHARACTERS = 64 * 1024;

interface Lines {
  write(line: string): void;
  /** Writes the waiting lines. */
  flush(): void;
}

/** @param atTurnsEnd calls back once, before other turns; setImmediate unless given */
export function linesByTurn(
  write: (lines: string) => void,
  atTurnsEnd: (callback: () => void) => void = setImmediate,
): Lines {
  let lines = '';
  let isDue = false;
  const flush = () => {
    if (lines === '') return;
    const text = lines;
    lines = '';
    write(text);
  };
  return {
    flush,
    write(line) {
      lines += line;
      if (lines.length >= MAX_CHARACTERS) flush();
      else if (!isDue) {
        isDue = true;
        atTurnsEnd(() => {
          isDue = false;
          flush();
        });
      }
    },
  };
}
