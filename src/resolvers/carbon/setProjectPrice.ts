/**
 * setProjectPrice: a project's developer sets the price of a tonne from now on. Earlier purchases keep their
 * price.
 */
import { DomainError } from '../../lib/errors.ts';
import { notFound } from '../../lib/notFound.ts';
import type { Needs } from '../core/dependencies.ts';
import { reserveKey } from '../core/idempotency.ts';
import { findProjectById, type Project } from './findProject.ts';
import { appendPrice, checkPrice, type Price } from './projectPrices.ts';

interface SetProjectPriceInput {
  projectId: string;
  pricePerTonne: Price;
  idempotencyKey: string;
}

/**
 * @param caller must be the project's developer, unless they are an operator.
 * @throws DomainError NOT_FOUND, FORBIDDEN, BAD_USER_INPUT, IDEMPOTENCY_CONFLICT
 */
export async function setProjectPrice(
  deps: Needs<'db' | 'clock' | 'ids'>,
  caller: { subject: string; isOperator: boolean },
  input: SetProjectPriceInput,
): Promise<Project> {
  const project = await findProjectById(deps, input.projectId);
  if (!project) throw notFound('project', 'input.projectId');
  if (!caller.isOperator && project.developerId !== caller.subject) {
    throw new DomainError(
      'FORBIDDEN',
      'Only the developer of this project, or an operator, sets its price.',
      {
        field: 'input.projectId',
      },
    );
  }
  const price = checkPrice(input.pricePerTonne);
  const request = {
    callerSubject: caller.subject,
    operation: 'setProjectPrice',
    key: input.idempotencyKey,
    input: { projectId: project.id, ...price },
  };
  const id = deps.ids.next();
  const at = deps.clock.now();
  await deps.db.transaction(async (tx) => {
    if ((await reserveKey(tx, request, id)) !== null) return;
    await appendPrice(tx, { id, projectId: project.id, price, setBy: caller.subject, at });
  });
  return project;
}
