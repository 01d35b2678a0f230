/**
 * Subscriptions to one subject: as it is, then after each change, for those who may see it.
 */
import type { Caller } from '../../identity/roles.ts';
import type { Dependencies } from '../../resolvers/core/dependencies.ts';
import type { SubjectKind } from '../../resolvers/core/subjectFollower.ts';
import type { Context } from './context.ts';
import { endableStream } from './endableStream.ts';
import { notFound } from './notFound.ts';

interface FollowedSubject<Subject extends { id: string }> {
  kind: SubjectKind<Subject>;
  find(dependencies: Dependencies, id: string): Promise<Subject | null>;
  maySee(caller: Caller | null, subject: Subject): boolean;
  /** For the error. */
  noun: string;
}

/** How such a subscription behaves, for its description. */
export const UPDATES =
  'First as it is, then again after each change; a client that connects again continues with what is then. A change that ' +
  'lasted for a moment may be left out. The subscription ends in a state that is final: ';

/** @throws DomainError NOT_FOUND, also for a subject that the caller may not see */
export async function updatesOf<Subject extends { id: string }>(
  { kind, find, maySee, noun }: FollowedSubject<Subject>,
  { id: { id } }: { id: { id: string } },
  { caller, dependencies }: Pick<Context<Dependencies>, 'caller' | 'dependencies'>,
): Promise<AsyncIterableIterator<Subject>> {
  const subject = await find(dependencies, id);
  if (subject === null || !maySee(caller, subject)) throw notFound(noun, 'id');
  return endableStream(async (signal) =>
    whileSeen(dependencies.subjectFollower.follow(kind, subject, signal), (now) => maySee(caller, now)),
  );
}

/** A caller may lose sight of what it follows: a lender, of a receipt that is no longer pledged. */
async function* whileSeen<Subject>(
  subjects: AsyncIterable<Subject>,
  isSeen: (subject: Subject) => boolean,
): AsyncGenerator<Subject, void, void> {
  for await (const subject of subjects) {
    if (!isSeen(subject)) return;
    yield subject;
  }
}
