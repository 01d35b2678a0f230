/**
 * createProject: a verified project becomes one token, its verified tonnes minted into custody.
 *
 *   request ─▶ project DEPLOYING + deploy intent (one transaction)
 *           ─▶ deploy landed ─▶ MINTING + mint intent ─▶ mint final ─▶ OPEN, inventory opened
 *
 * The effects of the two network calls are in projectEffects.ts.
 */
import { createHmac } from 'node:crypto';
import { and, eq, ne, TransactionRollbackError } from 'drizzle-orm';
import { unixSeconds } from '../clock.ts';
import { projects } from '../db/schema/index.ts';
import { DomainError } from '../errors.ts';
import { NEW_SUBMISSION } from '../ledger/submission/submission.ts';
import { enqueueSubmission } from '../ledger/submission/enqueue.ts';
import { toBaseUnits, ZERO_HASH } from '../ledger/units.ts';
import { awaitSubject } from './awaitSubject.ts';
import type { Dependencies } from './dependencies.ts';
import { findProjectById, type Project } from './findProject.ts';
import { reserveKey, type IdempotentRequest } from './idempotency.ts';

export const CARBON_TOKEN_SYMBOL = 'CARB';

export interface CreateProjectInput {
  creditType: string;
  verificationBodyRef: string;
  vintageYear: number;
  /** Whole tonnes. */
  quantityCO2e: bigint;
  projectLocation: string;
  projectType: string;
  countryCode: string;
  idempotencyKey: string;
}

/**
 * @returns the project in the state reached when the wait ended.
 * @throws DomainError CONFLICT (the asset id is taken by other facts), IDEMPOTENCY_CONFLICT, LEDGER_REJECTED
 */
export async function createProject(
  deps: Dependencies,
  developerId: string,
  input: CreateProjectInput,
): Promise<Project> {
  const projectId = (await record(deps, developerId, input)) ?? (await sameProject(deps, developerId, input));
  deps.subjects.ring(NEW_SUBMISSION);

  const project = await awaitSubject(
    deps,
    projectId,
    () => requireProject(deps, projectId),
    ({ state }) => state !== 'DEPLOYING' && state !== 'MINTING',
  );
  if (project.state === 'REFUSED') {
    throw new DomainError(
      'LEDGER_REJECTED',
      `The network refused the project's token: ${project.refusalMessage}`,
      {
        projectId,
        assetId: project.assetId,
      },
    );
  }
  return project;
}

/** Commits the project and the intent to deploy; null when its asset id is taken. */
async function record(
  deps: Dependencies,
  developerId: string,
  input: CreateProjectInput,
): Promise<string | null> {
  const id = deps.ids.next();
  const now = deps.clock.now();
  const facts = factsOf(input);
  const deploySalt = deploySaltOf(deps.saltKey, facts.assetKey);
  return deps.db
    .transaction(async (tx) => {
      const first = await reserveKey(tx, idempotentRequest(developerId, input), id, now);
      if (first !== null) return first;
      const inserted = await tx
        .insert(projects)
        .values({ ...facts, id, developerId, deploySalt, state: 'DEPLOYING', createdAt: now })
        .onConflictDoNothing()
        .returning({ id: projects.id });
      if (inserted.length === 0) {
        // The key must not stand for a project that was never written; it is reserved again for the existing one.
        tx.rollback();
      }
      await enqueueSubmission(tx, deps, {
        subjectId: id,
        call: {
          kind: 'deployCarbonCredit',
          salt: deploySalt,
          name: facts.tokenName,
          symbol: facts.tokenSymbol,
          assetId: facts.assetId,
          countryCode: facts.countryCode,
          metadata: {
            creditType: facts.creditType,
            verificationBodyRef: facts.verificationBodyRef,
            vintageYear: facts.vintageYear,
            quantityCO2e: toBaseUnits(facts.quantityTonnes),
            projectLocation: facts.projectLocation,
            projectType: facts.projectType,
            verificationDocHash: ZERO_HASH,
            lastUpdated: unixSeconds(now),
          },
        },
      });
      return id;
    })
    .catch((error: unknown) => {
      if (error instanceof TransactionRollbackError) return null;
      throw error;
    });
}

/** The asset id is taken: by the very same request sent again under a new key, or by something else. */
async function sameProject(
  deps: Dependencies,
  developerId: string,
  input: CreateProjectInput,
): Promise<string> {
  const facts = factsOf(input);
  const [existing] = await deps.db
    .select()
    .from(projects)
    .where(and(eq(projects.assetKey, facts.assetKey), ne(projects.state, 'REFUSED')));
  if (!existing) {
    throw new DomainError(
      'CONFLICT',
      `Project ${facts.assetId} was refused just now. Send the request again.`,
    );
  }
  const isSame =
    existing.developerId === developerId &&
    Object.entries(facts).every(([name, value]) => existing[name as keyof typeof facts] === value);
  if (!isSame) {
    throw new DomainError(
      'CONFLICT',
      `The credits "${facts.assetId}" are already issued or being issued with other details. ` +
        'The same verified credits can be issued once only.',
      { field: 'input.verificationBodyRef', assetId: facts.assetId },
    );
  }
  const request = idempotentRequest(developerId, input);
  await deps.db.transaction((tx) => reserveKey(tx, request, existing.id, deps.clock.now()));
  return existing.id;
}

function factsOf(input: CreateProjectInput) {
  const assetId = `${input.verificationBodyRef}-${input.vintageYear}`;
  return {
    assetId,
    // Letter case and white space don't make other credits.
    assetKey: assetId.toLowerCase().replaceAll(/\s+/g, ' '),
    creditType: input.creditType,
    verificationBodyRef: input.verificationBodyRef,
    vintageYear: input.vintageYear,
    quantityTonnes: input.quantityCO2e,
    projectLocation: input.projectLocation,
    projectType: input.projectType,
    countryCode: input.countryCode,
    tokenName: `${input.projectLocation} ${input.creditType}`,
    tokenSymbol: CARBON_TOKEN_SYMBOL,
  };
}

/**
 * The salt follows from the asset id: even a platform that lost its database can't deploy the same asset
 * twice, because the factory accepts a salt once.
 */
function deploySaltOf(saltKey: Uint8Array, assetKey: string): string {
  return `0x${createHmac('sha256', saltKey).update(`carbon-credit:${assetKey}`).digest('hex')}`;
}

function idempotentRequest(developerId: string, input: CreateProjectInput): IdempotentRequest {
  const { idempotencyKey, ...rest } = input;
  return { callerId: developerId, operation: 'createProject', key: idempotencyKey, input: rest };
}

async function requireProject(deps: Dependencies, id: string): Promise<Project> {
  const project = await findProjectById(deps, id);
  if (!project) throw new Error(`project ${id} has vanished`);
  return project;
}
