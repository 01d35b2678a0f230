/**
 * A node in this thread: the host's module, its HTTP side and its file.
 */
import { randomBytes } from 'node:crypto';
import { createEngine, RpcError } from './engine.ts';
import type { Engine } from './engine.ts';
import { startHttpServer } from './httpServer.ts';
import type { SorobanNodeOptions } from './startSorobanNode.ts';
import { claimStateFile, unusable } from './stateFile.ts';
import type { StateFile } from './stateFile.ts';

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
  save(): Promise<void>;
  stop(): Promise<void>;
}

type OnError = (error: unknown) => void;

export async function openNode(options: NodeOptions, onError: OnError): Promise<OpenNode> {
  const file = options.stateFile === undefined ? null : await claimStateFile(options.stateFile);
  try {
    return await openOn(file, options, onError);
  } catch (error) {
    await file?.release();
    throw error;
  }
}

async function openOn(file: StateFile | null, options: NodeOptions, onError: OnError): Promise<OpenNode> {
  const { host = '127.0.0.1', port = 0 } = options;
  const engine = await createEngine(options.protocolVersion ?? 28, {
    ...options,
    startsAt: options.startsAt ?? Math.floor(Date.now() / 1000),
    seed: randomBytes(32).toString('hex'),
  });
  if (file) load(engine, await file.read(), options.stateFile ?? '');
  let isHeld = false;
  const friendbot = { url: '' };
  const server = await startHttpServer({
    host,
    port,
    onError,
    befriend: (address) => (engine.call('control.befriend', { address }) as { hash: string | null }).hash,
    ask: (method, params) => {
      if (method.startsWith('control.')) return REFUSED_CONTROL;
      return engine.ask(method, method === 'getNetwork' ? { friendbotUrl: friendbot.url } : params);
    },
  });
  friendbot.url = `${server.url}/friendbot`;
  const save = async () => {
    await file?.write(engine.call('control.save'));
  };
  return {
    url: server.url,
    call: engine.call,
    hold: () => void (isHeld = true),
    release: () => void (isHeld = false),
    closeInTime() {
      if (!isHeld) engine.call('control.closeLedger');
    },
    save,
    async stop() {
      await server.stop();
      try {
        await save();
      } finally {
        await file?.release();
      }
    },
  };
}

/** Only the owner of the network may use controls: a page in a browser could reach the port. */
const REFUSED_CONTROL = JSON.stringify({ error: { code: -32_601, message: 'method not found' } });

function load(engine: Engine, state: unknown, path: string): void {
  if (state === undefined) return;
  try {
    engine.call('control.load', state);
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    throw new Error(unusable(path, error.message), { cause: error });
  }
}
