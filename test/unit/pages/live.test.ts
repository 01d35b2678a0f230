/**
 * The script of the live list, in a fake page with only the parts that it uses: an element for each id, and a
 * socket that the test drives.
 */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

const SCRIPT = new URL('../../../src/pages/assets/scripts/live.js', import.meta.url).href;
/** Longer than the script's first wait before it connects again. */
const WAIT_MS = 2_000;

type Listener = (event: object) => void;
const sockets: FakeSocket[] = [];
const reload = vi.fn<() => void>();

class FakeSocket {
  readonly sent: string[] = [];
  readonly listeners = new Map<string, Listener>();

  constructor() {
    sockets.push(this);
  }

  addEventListener(name: string, listener: Listener): void {
    this.listeners.set(name, listener);
  }

  send(text: string): void {
    this.sent.push(text);
  }

  close(): void {
    this.listeners.get('close')?.({});
  }

  say(message: object): void {
    this.listeners.get('message')?.({ data: JSON.stringify(message) });
  }
}

beforeEach(() => {
  vi.useFakeTimers();
  const element = { dataset: { filter: '{}', cursor: '7.0badcafe' }, classList: { toggle: () => {} } };
  vi.stubGlobal('document', { getElementById: () => element });
  vi.stubGlobal('window', { WebSocket: FakeSocket });
  vi.stubGlobal('WebSocket', FakeSocket);
  vi.stubGlobal('location', { protocol: 'https:', host: 'api.example', reload });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

/** Ends the newest socket's subscription with this error. */
function endWith(code: string): void {
  const socket = sockets.at(-1);
  socket?.say({ type: 'connection_ack' });
  expect(socket?.sent.join()).toContain('"after":"7.0badcafe"');
  socket?.say({ type: 'next', payload: { errors: [{ extensions: { code } }] } });
  socket?.say({ type: 'complete' });
  vi.advanceTimersByTime(WAIT_MS);
}

it('loads the page again when its cursor is refused, and connects again after any other end', async () => {
  await import(SCRIPT);
  endWith('OVERLOADED');
  expect([reload.mock.calls.length, sockets.length]).toEqual([0, 2]);
  endWith('BAD_USER_INPUT');
  expect([reload.mock.calls.length, sockets.length]).toEqual([1, 2]);
});
