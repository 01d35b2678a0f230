/**
 * A node in this thread: the host's module and its HTTP side.
 */
import { randomBytes } from 'node:crypto';
import { createEngine } from './engine.ts';
import type { Engine } from './engine.ts';
import { startHttpServer } from './httpServer.ts';
import type { SorobanNodeOptions } from './startSorobanNode.ts';

export interface NodeOptions extends Omit<SorobanNodeOptions, 'onError' | 'closeEveryMs'> {
  passphrase: string;
}

export interface OpenNode {
  url: string;
  call: Engine['call'];
  hold(): void;
  release(): void;
  /** Does nothing while the node is held, because the request may be older than the hold. */
  closeInTime(): void;
  stop(): Promise<void>;
}

export async function openNode(options: NodeOptions, onError: (error: unknown) => void): Promise<OpenNode> {
  const engine = await createEngine(options.protocolVersion ?? 28, {
    ...options,
    startsAt: options.startsAt ?? Math.floor(Date.now() / 1000),
    seed: randomBytes(32).toString('hex'),
  });
  let isHeld = false;
  const friendbot = { url: '' };
  const server = await startHttpServer({
    port: options.port ?? 0,
    onError,
    befriend: (address) => (engine.call('control.befriend', { address }) as { hash: string | null }).hash,
    ask: (method, params) => {
      if (method.startsWith('control.')) return REFUSED_CONTROL;
      return engine.ask(method, method === 'getNetwork' ? { friendbotUrl: friendbot.url } : params);
    },
  });
  friendbot.url = `${server.url}/friendbot`;
  return {
    url: server.url,
    call: engine.call,
    hold: () => void (isHeld = true),
    release: () => void (isHeld = false),
    closeInTime() {
      if (!isHeld) engine.call('control.closeLedger');
    },
    stop: server.stop,
  };
}

/** Only the owner of the network may use controls: a page in a browser could reach the port. */
const REFUSED_CONTROL = JSON.stringify({ error: { code: -32_601, message: 'method not found' } });
