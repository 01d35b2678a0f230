/**
 * JSON that is written already, in an answer whose other values are not.
 */
export class ReadyJson {
  readonly text: string;
  /** As measureAnswer counts what it writes. */
  readonly bytes: number;

  constructor(text: string, bytes: number) {
    this.text = text;
    this.bytes = bytes;
  }

  /** Right everywhere; `stringify` does without it. */
  toJSON(): unknown {
    return JSON.parse(this.text);
  }
}

const holders = new WeakSet<object>();

/** Says that there is ready JSON among plain values in it. What has none is left to JSON.stringify, which is faster. */
export function holdsReady(data: object): void {
  holders.add(data);
}

/** As JSON.stringify. */
export function stringify(result: { data?: object | null }): string {
  return result.data != null && holders.has(result.data) ? write(result) : JSON.stringify(result);
}

function write(value: unknown): string {
  if (value instanceof ReadyJson) return value.text;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${withCommas(value, write)}]`;
  return `{${withCommas(Object.entries(value), ([name, inner]) => `${JSON.stringify(name)}:${write(inner)}`)}}`;
}

/** As `join`, which copies: a list of megabytes was copied once for each level that it stands below. */
function withCommas<T>(values: readonly T[], textOf: (value: T) => string): string {
  let text = '';
  for (const value of values) text += text === '' ? textOf(value) : `,${textOf(value)}`;
  return text;
}
