/**
 * The carbon demo: a project is issued, two buyers purchase and retire, subscribers follow the feed, and at
 * the end the books and the network agree.
 */
import { randomUUID } from 'node:crypto';
import { awaitState, landedHash, type NetworkTransaction } from './awaitState.ts';
import type { ApiClient } from './client.ts';
import type { Narrator } from './narrator.ts';
import { pollUntil } from './pollUntil.ts';
import type { TokenFor } from './tokens.ts';

interface Project {
  assetId: string;
  tokenAddress: string;
  transactions: NetworkTransaction[];
}
interface FeedEvent {
  retirementFeed: { cursor: string; record: { index: number; beneficiary: string; tonnes: string } };
}
interface Registry {
  registry: {
    totalRetired: string;
    records: { index: number; beneficiary: string; note: string; tonnes: string; txHash: string | null }[];
  };
}
interface Reconciliation {
  reconciliation: {
    agrees: boolean;
    books: { issued: string; inventory: string; heldByBuyers: string; retired: string };
    network: { totalSupply: string; totalRetired: string; custodyBalance: string };
    findings: { invariant: string; message: string }[];
  };
}

const BUYERS = [
  { id: 'acme', name: 'Acme Airlines', purchase: '600', retire: '250' },
  { id: 'globex', name: 'Globex Shipping', purchase: '300', retire: '300' },
] as const;

export async function runCarbonDemo(api: ApiClient, tell: Narrator, tokenFor: TokenFor): Promise<void> {
  tell.chapter('Carbon credits');
  const { tokenAddress } = await submitProject(api, tell, tokenFor);
  const seen: FeedEvent[] = [];
  const unfollow = followFeed(api, tell, tokenAddress, seen);
  try {
    for (const buyer of BUYERS) {
      await purchaseFor(api, tell, tokenFor, buyer, tokenAddress);
      await retireFor(api, tell, tokenFor, buyer, tokenAddress);
    }
    await tell.step('The live feed has shown every retirement', () =>
      pollUntil(
        `the feed has shown ${BUYERS.length} retirements`,
        async () => seen.length,
        (count) => count >= BUYERS.length,
      ),
    );
  } finally {
    unfollow();
  }
  await readRegistry(api, tell, tokenAddress);
  await proveAgreement(api, tell, tokenFor, tokenAddress);
}

async function submitProject(api: ApiClient, tell: Narrator, tokenFor: TokenFor): Promise<Project> {
  const token = await tokenFor('developer');
  const input = {
    creditType: 'VCU',
    verificationBodyRef: `DEMO-${randomUUID().slice(0, 8)}`,
    vintageYear: 2024,
    quantityCO2e: '1000',
    projectLocation: 'Kasigau Corridor',
    projectType: 'REDD+',
    countryCode: 'KE',
    idempotencyKey: randomUUID(),
  };
  const project = await tell.step('A developer submits a verified project of 1000 tonnes', async () => {
    const { createProject } = await api.send<{ createProject: { project: { id: string } } }>(
      'mutation ($input: CreateProjectInput!) { createProject(input: $input) { project { id } } }',
      { input },
      token,
    );
    const subject = { type: 'Project', id: createProject.project.id } as const;
    const fields = 'assetId tokenAddress transactions { kind state txHash }';
    return awaitState<Project>(api, subject, 'OPEN', fields, token);
  });
  tell.fact('asset id', project.assetId);
  tell.fact('token', project.tokenAddress);
  tell.fact('deployed by', landedHash(project.transactions, 'DEPLOY_CARBON_CREDIT'));
  return project;
}

function followFeed(api: ApiClient, tell: Narrator, tokenAddress: string, seen: FeedEvent[]): () => void {
  return api.follow<FeedEvent>(
    `subscription ($tokenAddress: Address!) {
      retirementFeed(tokenAddress: $tokenAddress, after: "0") { cursor record { index beneficiary tonnes } }
    }`,
    { tokenAddress },
    (event) => {
      seen.push(event);
      const { record } = event.retirementFeed;
      tell.live(`retirement ${record.index}: ${record.tonnes} t CO2e for ${record.beneficiary}`);
    },
  );
}

async function purchaseFor(
  api: ApiClient,
  tell: Narrator,
  tokenFor: TokenFor,
  buyer: (typeof BUYERS)[number],
  tokenAddress: string,
): Promise<void> {
  const token = await tokenFor('buyer', buyer.id);
  await tell.step(`${buyer.name} purchases ${buyer.purchase} tonnes (the platform's books only)`, () =>
    api.send(
      'mutation ($input: PurchaseInput!) { purchase(input: $input) { purchase { id } } }',
      {
        input: { buyerId: buyer.id, tokenAddress, amountCO2e: buyer.purchase, idempotencyKey: randomUUID() },
      },
      token,
    ),
  );
}

async function retireFor(
  api: ApiClient,
  tell: Narrator,
  tokenFor: TokenFor,
  buyer: (typeof BUYERS)[number],
  tokenAddress: string,
): Promise<void> {
  const token = await tokenFor('buyer', buyer.id);
  const input = {
    buyerId: buyer.id,
    buyerName: buyer.name,
    tokenAddress,
    amountCO2e: buyer.retire,
    note: 'Business travel 2025',
    idempotencyKey: randomUUID(),
  };
  const retirement = await tell.step(
    `${buyer.name} retires ${buyer.retire} tonnes (burned on the network)`,
    async () => {
      const { retire } = await api.send<{ retire: { retirement: { id: string } } }>(
        'mutation ($input: RetireInput!) { retire(input: $input) { retirement { id } } }',
        { input },
        token,
      );
      const subject = { type: 'Retirement', id: retire.retirement.id } as const;
      return awaitState<{ txHash: string }>(api, subject, 'RETIRED', 'txHash', token);
    },
  );
  tell.fact('burned by', retirement.txHash);
}

async function readRegistry(api: ApiClient, tell: Narrator, tokenAddress: string): Promise<void> {
  const { registry } = await tell.step('A reader without a token reads the public registry', () =>
    api.send<Registry>(
      `query ($tokenAddress: Address!) {
        registry(tokenAddress: $tokenAddress) {
          totalRetired records { index beneficiary note tonnes txHash }
        }
      }`,
      { tokenAddress },
      null,
    ),
  );
  tell.fact('total retired', `${registry.totalRetired} base units`);
  for (const record of registry.records) {
    tell.fact(`record ${record.index}`, `${record.tonnes} t, ${record.beneficiary}, "${record.note}"`);
  }
}

async function proveAgreement(
  api: ApiClient,
  tell: Narrator,
  tokenFor: TokenFor,
  tokenAddress: string,
): Promise<void> {
  const token = await tokenFor('operator');
  const { reconciliation } = await tell.step('An operator compares books and network', () =>
    api.send<Reconciliation>(
      `query ($tokenAddress: Address!) {
        reconciliation(tokenAddress: $tokenAddress) {
          agrees
          books { issued inventory heldByBuyers retired }
          network { totalSupply totalRetired custodyBalance }
          findings { invariant message }
        }
      }`,
      { tokenAddress },
      token,
    ),
  );
  const { books, network, agrees, findings } = reconciliation;
  tell.fact(
    'books',
    `${books.issued} issued = ${books.inventory} unsold + ${books.heldByBuyers} held + ${books.retired} retired`,
  );
  tell.fact('network', `${network.totalSupply} in custody, ${network.totalRetired} retired (base units)`);
  if (!agrees)
    throw new Error(findings.map(({ invariant, message }) => `${invariant}: ${message}`).join('\n'));
  tell.fact('reconciliation', 'books and network agree');
}
