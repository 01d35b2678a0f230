/**
 * The benchmark's side of the load process, which runs the clients apart from the measured servers.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { HttpJob, HttpResult, LoadAnswer, LoadCalls, LoadMethod } from './messages.ts';

export interface Load {
  call<M extends LoadMethod>(method: M, input: LoadCalls[M]['input']): Promise<LoadCalls[M]['output']>;
  stop(): void;
}

export function startLoad(): Load {
  const child = fork(fileURLToPath(new URL('main.ts', import.meta.url)), {
    execArgv: ['--import', 'tsx'],
    serialization: 'json',
  });
  const waiting = new Map<number, { resolve: (output: unknown) => void; reject: (error: Error) => void }>();
  let calls = 0;
  child.on('message', (answer: LoadAnswer) => {
    const call = waiting.get(answer.id);
    waiting.delete(answer.id);
    if ('error' in answer) call?.reject(new Error(answer.error));
    else call?.resolve(answer.output);
  });
  child.on('exit', (code) => {
    for (const { reject } of waiting.values()) reject(new Error(`the load process ended with ${code}`));
    waiting.clear();
  });
  return {
    call: (method, input) =>
      new Promise<unknown>((resolve, reject) => {
        calls += 1;
        waiting.set(calls, { resolve, reject });
        child.send({ id: calls, method, input });
      }) as Promise<LoadCalls[typeof method]['output']>,
    stop: () => void child.kill(),
  };
}

/** Sends requests for one turn. @throws when one failed, because refused requests must not count */
export async function sendRequests(
  { load, seconds }: { load: Load; seconds: number },
  job: Omit<HttpJob, 'path' | 'seconds'> & Partial<HttpJob>,
): Promise<HttpResult> {
  const result = await load.call('http', { path: '/graphql', seconds, ...job });
  if (result.failed > 0) throw new Error(`${result.failed} requests failed: ${result.failure}`);
  return result;
}
