/**
 * createProject: deploys a verified project's token and mints its verified tonnes into custody.
 *
 *   request ─▶ project DEPLOYING + deploy intent (one transaction)
 *           ─▶ deploy landed ─▶ MINTING + mint intent ─▶ mint final ─▶ OPEN, inventory opened
 *
 * The effects of the two network calls are in ../core/tokenEffects.ts, and what they store in projectToken.
 */
import { TransactionRollbackError } from 'drizzle-orm';
import { unixSeconds, type IdSource } from '../../lib/clock.ts';
import { requireById, updateById } from '../../db/findByIds.ts';
import { projects } from '../../db/tables/index.ts';
import { DomainError } from '../../lib/errors.ts';
import { spellingKey } from '../core/spellingKey.ts';
import { enqueueSubmission } from '../../ledger/submission/enqueue.ts';
import { toBaseUnits, ZERO_HASH } from '../../ledger/units.ts';
import { needsApproval } from '../approvals/approvalPolicy.ts';
import { awaitDeployed } from '../core/awaitState.ts';
import { deploySaltOf } from '../core/deploySalt.ts';
import type { Needs } from '../core/dependencies.ts';
import type { Grant } from '../core/grant.ts';
import { findProjectByAsset, type Project } from './findProject.ts';
import { appendPrice, checkPrice, type Price } from './projectPrices.ts';
import { reserveKey, type IdempotentRequest } from '../core/idempotency.ts';
import { issuePosting } from '../../ledger/books/postings.ts';
import { postTransfers } from '../../ledger/books/postTransfers.ts';
import type { LedgerNetwork } from '../../ledger/network/port.ts';
import type { AssetToken } from '../core/tokenEffects.ts';

type RecordNeeds = Needs<'db' | 'clock' | 'ids' | 'saltKey' | 'approvalPolicy'>;
type CreateProjectNeeds = RecordNeeds & Needs<'stateSignal' | 'mutationWaitMs'>;

const CARBON_TOKEN_SYMBOL = 'CARB';

export interface CreateProjectInput {
  creditType: string;
  verificationBodyRef: string;
  vintageYear: number;
  /** Whole tonnes. */
  quantityCO2e: bigint;
  projectLocation: string;
  projectType: string;
  countryCode: string;
  /** Price of a tonne from the project's creation on. */
  pricePerTonne?: Price | null;
  idempotencyKey: string;
}

/**
 * @param grant of a request for approval, which has reserved the idempotency key already
 * @returns the project in the state reached when the wait ended.
 * @throws DomainError BAD_USER_INPUT (the price), CONFLICT (a project with other details has the asset id),
 *   IDEMPOTENCY_CONFLICT, LEDGER_REFUSED
 */
export async function createProject(
  deps: CreateProjectNeeds,
  developerId: string,
  asked: CreateProjectInput,
  grant?: Grant,
): Promise<Project> {
  const input = checkedProject(asked);
  const projectId =
    (await record(deps, developerId, input, grant)) ?? (await sameProject(deps, developerId, input, grant));
  const read = () => requireById(deps.db, projects, projectId);
  return awaitDeployed(deps, projectId, read, "The project's token", ({ assetId }) => ({
    projectId,
    assetId,
  }));
}

/** Returns the input with its price in the stored form. @throws DomainError BAD_USER_INPUT (the price) */
export function checkedProject(input: CreateProjectInput): CreateProjectInput {
  const { pricePerTonne = null } = input;
  return { ...input, pricePerTonne: pricePerTonne && checkPrice(pricePerTonne) };
}

/** Commits the project and the intent to deploy; null when its asset id is taken, or it needs an approval. */
async function record(
  deps: RecordNeeds,
  developerId: string,
  input: CreateProjectInput,
  grant: Grant | undefined,
): Promise<string | null> {
  const id = grant?.requestId ?? deps.ids.next();
  const now = deps.clock.now();
  const facts = factsOf(input);
  const deploySalt = deploySaltOf(deps, `carbon-credit:${facts.assetKey}`);
  return deps.db
    .transaction(async (tx) => {
      const first = grant ? null : await reserveKey(tx, projectRequest(developerId, input), id);
      if (first !== null) return first;
      // The asset id was taken, so no approval was asked for. If its project was refused, one is needed.
      if (!grant && needsApproval(deps.approvalPolicy, { operation: 'createProject', input })) tx.rollback();
      await grant?.confirm(tx);
      const inserted = await tx
        .insert(projects)
        .values({ ...facts, id, developerId, deploySalt, state: 'DEPLOYING', createdAt: now })
        .onConflictDoNothing()
        .returning({ id: projects.id });
      if (inserted.length === 0) {
        // Releases the key, which must not refer to a missing project. sameProject reserves it for the
        // existing one.
        tx.rollback();
      }
      if (input.pricePerTonne) {
        const price = input.pricePerTonne;
        await appendPrice(tx, { id, projectId: id, price, setBy: developerId, at: now });
      }
      await enqueueSubmission(tx, deps, {
        targetType: 'PROJECT',
        targetId: id,
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

/** Handles a taken asset id: by the same request under a new key, or by a request with other facts. */
async function sameProject(
  deps: Needs<'db'>,
  developerId: string,
  input: CreateProjectInput,
  grant: Grant | undefined,
): Promise<string> {
  const facts = factsOf(input);
  const existing = await findProjectByAsset(deps, facts.assetId);
  if (!existing) {
    throw new DomainError(
      'CONFLICT',
      `Project ${facts.assetId} was refused just now. Send the request again.`,
      { field: 'input.verificationBodyRef', assetId: facts.assetId },
    );
  }
  // An approval is only for a new project.
  const isSame =
    grant === undefined &&
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
  const request = projectRequest(developerId, input);
  await deps.db.transaction((tx) => reserveKey(tx, request, existing.id));
  return existing.id;
}

export function assetIdOf(input: Pick<CreateProjectInput, 'verificationBodyRef' | 'vintageYear'>): string {
  return `${input.verificationBodyRef}-${input.vintageYear}`;
}

function factsOf(input: CreateProjectInput) {
  const { idempotencyKey: _key, pricePerTonne: _price, quantityCO2e: quantityTonnes, ...described } = input;
  const assetId = assetIdOf(input);
  return {
    ...described,
    quantityTonnes,
    assetId,
    assetKey: spellingKey(assetId),
    tokenName: `${input.projectLocation} ${input.creditType}`,
    tokenSymbol: CARBON_TOKEN_SYMBOL,
  };
}

export function projectRequest(developerId: string, input: CreateProjectInput): IdempotentRequest {
  const { idempotencyKey, pricePerTonne, ...rest } = input;
  return {
    callerSubject: developerId,
    operation: 'createProject',
    key: idempotencyKey,
    input: { ...rest, ...pricePerTonne },
  };
}

interface ProjectTokenDependencies {
  network: Pick<LedgerNetwork, 'carbonTotals' | 'custodyAddress'>;
  ids: IdSource;
}

/**
 * How a project stores its token's deploy and mint. The credits enter the books when the mint is final.
 */
export function projectToken({ network, ids }: ProjectTokenDependencies): AssetToken {
  return {
    targetType: 'PROJECT',
    async setState(tx, id, state, stateReason) {
      await updateById(tx, projects, id, { state, stateReason });
    },
    async deployed(tx, id, tokenAddress) {
      const project = await updateById(tx, projects, id, {
        tokenAddress,
        state: 'MINTING',
        stateReason: null,
      });
      // The custody signer burns from its own balance, so that is where credits are minted to.
      return { to: network.custodyAddress, amount: toBaseUnits(project.quantityTonnes) };
    },
    async minted(tx, projectId, at) {
      const project = await updateById(tx, projects, projectId, {
        state: 'OPEN',
        openedAt: at,
        stateReason: null,
      });
      const posting = issuePosting({ id: ids.next(), projectId, amountTonnes: project.quantityTonnes });
      await postTransfers(tx, [posting], at);
    },
    async readMinted(tokenAddress) {
      const { totalSupply, totalRetired } = await network.carbonTotals(tokenAddress);
      return totalSupply + totalRetired;
    },
  };
}
