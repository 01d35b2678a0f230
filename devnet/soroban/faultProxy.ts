/**
 * A proxy in front of a node, with the faults of nodes and of their connections.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import { KEEP_ALIVE_MS, readText } from './httpServer.ts';
import type { SorobanNode } from './startSorobanNode.ts';
import { listenLocally } from '../listenLocally.ts';
import { passOn } from '../localRequests.ts';

/** A test switches faults on and off. Numbers count down as they are used. */
export interface Faults {
  /** This many of the next transactions are answered with TRY_AGAIN_LATER, and not passed on. */
  tryAgainLater: number;
  /** This many of the next transactions are passed on, but answered with DUPLICATE. */
  sayDuplicate: number;
  /** This many of the next transactions are refused for a wrong sequence number, and not passed on. */
  sayBadSequence: number;
  /** For this many of the next transactions, the connection is cut after they were passed on. */
  loseSendAnswers: number;
  /** This number of the next look-ups reports the transaction missing. */
  denyTransactions: number;
  /** How all requests fail, until it is null again. */
  unreachable: 'reset' | 'status-503' | 'truncated' | 'silent' | null;
  /** Extra delay of each answer. */
  delayMs: number;
  /** The node answers as it was this number of ledgers ago; transactions are still passed on. */
  lagLedgers: number;
}

type Counted = 'tryAgainLater' | 'sayDuplicate' | 'sayBadSequence' | 'loseSendAnswers' | 'denyTransactions';

interface FaultProxy {
  url: string;
  faults: Faults;
  stop(): Promise<void>;
}

interface Question {
  id: unknown;
  method: string;
  params: { transaction?: string } | undefined;
}

export function noFaults(): Faults {
  return {
    tryAgainLater: 0,
    sayDuplicate: 0,
    sayBadSequence: 0,
    loseSendAnswers: 0,
    denyTransactions: 0,
    unreachable: null,
    delayMs: 0,
    lagLedgers: 0,
  };
}

export async function startFaultProxy(
  node: Pick<SorobanNode, 'url' | 'passphrase' | 'setLag'>,
): Promise<FaultProxy> {
  const faults = noFaults();
  passLagOn(faults, node);
  const answerTo = createAnswers(faults, node.passphrase);

  async function pass(request: IncomingMessage, body: string): Promise<string> {
    const { method } = request;
    const passed = method === 'POST' ? { method, body } : {};
    return (await passOn(new URL(request.url ?? '/', node.url), passed)).text;
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = (await readText(request)) ?? '';
    if (faults.delayMs > 0) await delay(faults.delayMs);
    switch (faults.unreachable) {
      case 'reset':
        request.socket.resetAndDestroy();
        return;
      case 'status-503':
        response.writeHead(503).end('no healthy upstream');
        return;
      case 'silent':
        return;
      case 'truncated':
        truncate(response, await pass(request, body));
        return;
      case null:
        break;
      default:
        faults.unreachable satisfies never;
    }
    const question = parsed(body);
    const answer = question ? await answerTo(question, () => pass(request, body)) : await pass(request, body);
    if (answer === null) request.socket.resetAndDestroy();
    else response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  const { url, close } = await listenLocally(server);
  return { url, faults, stop: close };
}

/** A proxy can't know the state of an earlier ledger, so the node makes the lag. */
function passLagOn(faults: Faults, node: Pick<SorobanNode, 'setLag'>): void {
  let lag = 0;
  Object.defineProperty(faults, 'lagLedgers', {
    enumerable: true,
    get: () => lag,
    set(ledgers: number) {
      lag = ledgers;
      node.setLag(ledgers);
    },
  });
}

/** Answers questions with the faults that are due; null when the answer is lost. */
function createAnswers(
  faults: Faults,
  passphrase: string,
): (question: Question, pass: () => Promise<string>) => Promise<string | null> {
  const strikes = (fault: Counted) => faults[fault] > 0 && (faults[fault] -= 1) >= 0;

  /** The answer of a node that does not know the network's latest ledger. */
  function sent({ params }: Question) {
    const transaction = TransactionBuilder.fromXDR(params?.transaction ?? '', passphrase);
    return { hash: transaction.hash().toString('hex'), latestLedger: 1, latestLedgerCloseTime: '1' };
  }

  return async (question, pass) => {
    const { method } = question;
    if (method === 'getTransaction' && strikes('denyTransactions')) {
      const { result } = JSON.parse(await pass()) as { result: Record<string, unknown> };
      const names = [
        'latestLedger',
        'latestLedgerCloseTime',
        'oldestLedger',
        'oldestLedgerCloseTime',
        'txHash',
      ];
      const kept = Object.fromEntries(names.map((name) => [name, result[name]]));
      return answerOf(question, { status: 'NOT_FOUND', ...kept });
    }
    if (method !== 'sendTransaction') return pass();
    if (strikes('tryAgainLater')) return answerOf(question, { ...sent(question), status: 'TRY_AGAIN_LATER' });
    if (strikes('sayBadSequence')) {
      return answerOf(question, { ...sent(question), status: 'ERROR', errorResultXdr: badSequence() });
    }
    const answer = await pass();
    if (strikes('loseSendAnswers')) return null;
    if (!strikes('sayDuplicate')) return answer;
    return answerOf(question, { ...sent(question), status: 'DUPLICATE' });
  };
}

function answerOf({ id }: Question, result: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id, result });
}

function badSequence(): string {
  const result = new xdr.TransactionResult({
    feeCharged: xdr.Int64.fromString('0'),
    result: xdr.TransactionResultResult.txBadSeq(),
    ext: new xdr.TransactionResultExt(0),
  });
  return result.toXDR('base64');
}

/** Announces the whole body, sends half of it, and closes the connection. */
function truncate(response: ServerResponse, body: string): void {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  response.writeHead(200, headers);
  response.write(body.slice(0, body.length / 2), () => response.destroy());
}

function parsed(body: string): Question | null {
  try {
    return JSON.parse(body) as Question | null;
  } catch {
    return null;
  }
}
