/**
 * JSON that is already written, in an answer whose other values are not.
 */
export class ReadyJson {
  readonly text: string;
  /** The size of the text as measureAnswer counts it. */
  readonly bytes: number;

  constructor(text: string, bytes: number) {
    this.text = text;
    this.bytes = bytes;
  }

  /** Makes the value correct in JSON.stringify; `stringify` does not need it. */
  toJSON(): unknown {
    return JSON.parse(this.text);
  }
}

const holders = new WeakSet<object>();

/** Declares that the data contains ready JSON. Other data is left to JSON.stringify, which is faster. */
export function holdsReady(data: object): void {
  holders.add(data);
}

/** Like JSON.stringify. */
export function stringify(result: { data?: object | null }): string {
  return result.data != null && holders.has(result.data) ? write(result) : JSON.stringify(result);
}

function write(value: unknown): string {
  if (value instanceof ReadyJson) return value.text;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${withCommas(value, write)}]`;
  return `{${withCommas(Object.entries(value), ([name, inner]) => `${JSON.stringify(name)}:${write(inner)}`)}}`;
}

/** Like `join`, which copies: it copied a list of megabytes once for each level above the list. */
function withCommas<T>(values: readonly T[], textOf: (value: T) => string): string {
  let text = '';
  for (const value of values) text += text === '' ? textOf(value) : `,${textOf(value)}`;
  return text;
}
