/**
 * Runs the WebAssembly module of one protocol: text in, text out, through the module's memory.
 */
import { randomFillSync } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

export const PROTOCOLS = [26, 28] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** An error in an answer to a JSON-RPC client. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export interface Engine {
  /** The answer as JSON text: `{"result":…}` or `{"error":{"code":…,"message":…}}`. */
  ask(method: string, params: unknown): string;
  /** @throws RpcError */
  call(method: string, params?: unknown): unknown;
}

interface Exports {
  memory: WebAssembly.Memory;
  allocate(length: number): number;
  release(pointer: number, length: number): void;
  create(pointer: number, length: number): bigint;
  call(pointer: number, length: number): bigint;
}

/** Compiled once per process, because compiling takes longer than the rest of a start. */
const compiled = new Map<Protocol, Promise<WebAssembly.Module>>();

/** @throws RpcError when the options are refused */
export async function createEngine(protocol: Protocol, options: unknown): Promise<Engine> {
  let module = compiled.get(protocol);
  if (!module) compiled.set(protocol, (module = compile(protocol)));
  return run(await module, options);
}

async function compile(protocol: Protocol): Promise<WebAssembly.Module> {
  const file = new URL(`built/soroban-node-${protocol}.wasm.gz`, import.meta.url);
  const bytes = await promisify(gunzip)(await readFile(file));
  return WebAssembly.compile(Uint8Array.from(bytes));
}

async function run(module: WebAssembly.Module, options: unknown): Promise<Engine> {
  const system = createSystem(() => exports.memory);
  const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: system.imports });
  const exports = instance.exports as unknown as Exports;
  let broken: Error | null = null;

  function exchange(run: Exports['call'], question: unknown): string {
    if (broken) throw broken;
    const bytes = Buffer.from(JSON.stringify(question), 'utf8');
    try {
      const pointer = exports.allocate(bytes.length);
      new Uint8Array(exports.memory.buffer, pointer, bytes.length).set(bytes);
      const answer = BigInt.asUintN(64, run(pointer, bytes.length));
      const [at, length] = [Number(answer >> 32n), Number(answer & 0xffff_ffffn)];
      const text = Buffer.from(exports.memory.buffer, at, length).toString('utf8');
      exports.release(at, length);
      return text;
    } catch (error) {
      // After a trap the state of the memory is unknown.
      broken = new Error(`The Soroban host stopped: ${system.lastWords()}`, { cause: error });
      throw broken;
    }
  }

  resultOf(exchange(exports.create, options));
  const ask = (method: string, params: unknown) => exchange(exports.call, { method, params });
  return { ask, call: (method, params = {}) => resultOf(ask(method, params)) };
}

/** @throws RpcError */
function resultOf(text: string): unknown {
  const answer = JSON.parse(text) as { result: unknown; error?: { code: number; message: string } };
  if (answer.error) throw new RpcError(answer.error.code, answer.error.message);
  return answer.result;
}

/**
 * The functions of the system interface that Rust's standard library calls: seeds of hash tables, and the
 * text of a panic.
 */
function createSystem(memory: () => WebAssembly.Memory) {
  const MAX_WORDS = 2_000;
  let words = '';
  const view = () => new DataView(memory().buffer);
  const imports = {
    random_get(pointer: number, length: number): number {
      randomFillSync(new Uint8Array(memory().buffer, pointer, length));
      return 0;
    },
    environ_sizes_get(count: number, bytes: number): number {
      view().setUint32(count, 0, true);
      view().setUint32(bytes, 0, true);
      return 0;
    },
    environ_get: () => 0,
    fd_write(_descriptor: number, vectors: number, count: number, written: number): number {
      let total = 0;
      for (let at = vectors; at < vectors + count * 8; at += 8) {
        const [pointer, length] = [view().getUint32(at, true), view().getUint32(at + 4, true)];
        words = (words + Buffer.from(memory().buffer, pointer, length).toString('utf8')).slice(-MAX_WORDS);
        total += length;
      }
      view().setUint32(written, total, true);
      return 0;
    },
    proc_exit(code: number): never {
      throw new Error(`exit ${code}`);
    },
  };
  return { imports, lastWords: () => words.trim() };
}
