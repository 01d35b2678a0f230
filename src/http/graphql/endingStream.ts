/**
 * A stream that can be ended from outside.
 */
import { pullStream, type PullStream, type Take } from '../../lib/pullStream.ts';

/**
 * The same stream, ended by `watch`, and by its first failure: some readers go on after one, and a source that fails would fail again
 * at each pull. Nothing is read ahead: each `pull` is one `pull` of the source.
 * @param watch receives the function that ends the stream, and returns the one that stops watching.
 */
export function endingStream<T>(
  source: PullStream<T>,
  watch: (end: () => void) => () => void,
): PullStream<T> {
  let isEnded = false;
  let waiting: Take<T> | undefined;
  const end = () => {
    isEnded = true;
    stopWatch();
    const take = waiting;
    waiting = undefined;
    take?.(null);
    return source.return();
  };
  // A failure of the source to stop is ignored: the reader already has its answer.
  const endSafely = () => void end().catch(() => undefined);
  const stopWatch = watch(endSafely);
  const onStep: Take<T> = (step) => {
    const take = waiting;
    // It was ended meanwhile, and has its answer.
    if (take === undefined) return;
    waiting = undefined;
    if (step === null) stopWatch();
    else if ('error' in step) endSafely();
    take(step);
  };
  return pullStream<T>((take) => {
    if (isEnded) return take(null);
    waiting = take;
    source.pull(onStep);
    return undefined;
  }, end);
}
