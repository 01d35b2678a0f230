/**
 * The load process: runs the calls of the benchmark.
 */
import { createFeedClients } from './feed.ts';
import { runHttp } from './http.ts';
import type { LoadAnswer, LoadCalls, LoadMethod, LoadRequest } from './messages.ts';

type Handlers = { [M in LoadMethod]: (input: LoadCalls[M]['input']) => Promise<LoadCalls[M]['output']> };

const feed = createFeedClients();
const handlers: Handlers = {
  http: runHttp,
  openFeed: feed.open,
  awaitFeed: feed.await,
  closeFeed: feed.close,
};

process.on('message', ({ id, method, input }: LoadRequest) => {
  const handle = handlers[method] as (given: LoadRequest['input']) => Promise<unknown>;
  const answer = (message: LoadAnswer) => process.send?.(message);
  handle(input).then(
    (output) => answer({ id, output }),
    (error: unknown) => answer({ id, error: String(error instanceof Error ? error.stack : error) }),
  );
});
process.on('disconnect', () => process.exit(0));
