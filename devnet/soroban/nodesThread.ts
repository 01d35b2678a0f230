/**
 * The thread in which nodes run: it carries out the commands of the thread that started it.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { openNode } from './openNode.ts';
import type { OpenNode } from './openNode.ts';
import { failureOf } from './threadMessages.ts';
import type { Command, Question, ThreadAnswer, ThreadData, Trouble } from './threadMessages.ts';

const nodes = new Map<number, OpenNode>();
const { controls, answers } = workerData as ThreadData;

controls.on('message', (question: Question) => {
  controls.postMessage(answerNow(question));
  Atomics.add(answers, 0, 1);
  Atomics.notify(answers, 0);
});
parentPort?.on('message', (question: Question) => void answer(question));

function answerNow(question: Question): ThreadAnswer {
  const { id } = question;
  try {
    return { id, result: carryOutNow(question) };
  } catch (error) {
    return { id, failure: failureOf(error) };
  }
}

async function answer(question: Question): Promise<void> {
  const { id } = question;
  try {
    tell({ id, result: await carryOut(question) });
  } catch (error) {
    tell({ id, failure: failureOf(error) });
  }
}

function carryOutNow(command: Command): unknown {
  const node = nodeOf(command.node);
  if (command.name === 'call') return node.call(command.method, command.params);
  if (command.name === 'hold' || command.name === 'release') return node[command.name]();
  throw new Error(`${command.name} takes its time`);
}

async function carryOut(command: Command): Promise<unknown> {
  const { name, node } = command;
  if (name === 'open') {
    const onError = (error: unknown) => tell({ node, failure: failureOf(error) });
    const opened = await openNode(command.options, onError);
    nodes.set(node, opened);
    return opened.url;
  }
  if (name === 'closeInTime') return nodeOf(node).closeInTime();
  if (name !== 'stop') throw new Error(`${name} is answered at once`);
  const stopped = nodeOf(node);
  nodes.delete(node);
  return stopped.stop();
}

function nodeOf(number: number): OpenNode {
  const node = nodes.get(number);
  if (!node) throw new Error('The node has been stopped');
  return node;
}

function tell(message: ThreadAnswer | Trouble): void {
  parentPort?.postMessage(message);
}
