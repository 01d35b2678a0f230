/**
 * Mixed load, and the answers to its clients: each answered success is a fact that must be true at the end.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Api, Caller } from './api.ts';
import type { Lab } from './lab.ts';
import type { Random } from './schedule.ts';

interface Common {
  id: string;
  caller: Caller;
  answeredAt: number;
}
export type Fact = Common &
  (
    | { kind: 'Project'; state: string; tokenAddress: string | null }
    | { kind: 'Purchase' | 'CreditTransfer'; tonnes: string }
    | { kind: 'Retirement'; state: string; note: string }
    | { kind: 'Receipt'; state: string; tokenAddress: string | null }
    | { kind: 'OffRampSession'; state: string }
  );

export interface Load {
  facts: Fact[];
  operations: Record<string, number>;
  /** Refusals by code; a refusal is an answer too. */
  refusals: Record<string, number>;
  /** Resolves when there are credits to buy and receipts to cash out. */
  hasBegun(): Promise<void>;
  /** Resolves when each client has its last answer or has given up. */
  ended: Promise<void>;
}

const CLIENTS = 6;
export const BUYERS = ['buyer-1', 'buyer-2', 'buyer-3'] as const;
const WAREHOUSE = { role: 'warehouse', subject: 'warehouse-1' } as const;
const FARMER = { role: 'farmer', subject: 'farmer-1' } as const;
const DEVELOPER = { role: 'developer', subject: 'developer-1' } as const;
/** Each client sends a few requests a second, so that the machine is not what fails. */
const PAUSE_MS = 120;
/** Few objects, so that most requests concern existing ones. */
const MAX_PROJECTS = 5;
const MAX_RECEIPTS = 5;
/** For machines that are busy with other work: only a hang takes longer. */
const BEGIN_WITHIN_MS = 4 * 60_000;
const POLL_MS = 50;

/** The buyer's name in its retirements. */
export const beneficiaryOf = (buyer: string) => `${buyer} Ltd`;

interface Known {
  projects: string[];
  receipts: string[];
}

export function startLoad(lab: Lab, api: Api, random: Random, custodyAddress: string): Load {
  const load = { facts: [] as Fact[], operations: {}, refusals: {} } as Load;
  let key = 0;
  let epoch = lab.epoch;
  /** The purchases of each buyer: another buyer's retirement would only be refused. */
  const holdings: { buyer: Caller; tokenAddress: string }[] = [];

  function add(fact: Fact): void {
    load.facts.push(fact);
  }

  /** Answers that were given after the copy was made are not in it. */
  function noticeRestore(): void {
    if (lab.epoch === epoch) return;
    epoch = lab.epoch;
    load.facts = load.facts.filter(({ answeredAt }) => answeredAt < lab.restoredTo);
  }

  function known(): Known {
    const of = (kind: 'Project' | 'Receipt') =>
      load.facts.flatMap((fact) =>
        fact.kind === kind && fact.tokenAddress !== null ? [fact.tokenAddress] : [],
      );
    return { projects: [...new Set(of('Project'))], receipts: [...new Set(of('Receipt'))] };
  }

  /** @returns the subject of the mutation's answer; null when it was refused, or the outcome is unknown */
  async function mutate<T>(
    operation: string,
    selection: string,
    input: Record<string, unknown>,
    caller: Caller,
  ): Promise<T | null> {
    const began = lab.epoch;
    const type = `${operation[0]?.toUpperCase()}${operation.slice(1)}Input`;
    const reply = await api.untilAnswered<Record<string, Record<string, T>>>(
      `mutation ($input: ${type}!) { ${operation}(input: $input) { ${selection} } }`,
      { input: { ...input, idempotencyKey: `${operation} ${key++}` } },
      caller,
      lab.isOver,
    );
    noticeRestore();
    // An answer from before a restore says nothing about the copy.
    if (reply === null || began !== lab.epoch) return null;
    load.operations[operation] = (load.operations[operation] ?? 0) + 1;
    if ('refused' in reply) {
      const name = `${operation} ${reply.refused.split(':')[0]}`;
      load.refusals[name] = (load.refusals[name] ?? 0) + 1;
      return null;
    }
    return Object.values(Object.values(reply.data)[0] ?? {})[0] ?? null;
  }

  const answeredAt = () => Date.now();

  const acts: Record<string, { weight: number; run(state: Known): Promise<void> }> = {
    createProject: {
      weight: 2,
      async run({ projects }) {
        if (projects.length >= MAX_PROJECTS) return;
        const input = {
          creditType: 'VCU',
          verificationBodyRef: `LAB-${epoch}-${key}`,
          vintageYear: 2024,
          quantityCO2e: '100000',
          projectLocation: 'Kasigau Corridor, Kenya',
          projectType: 'REDD+',
          countryCode: 'KE',
        };
        const project = await mutate<{ id: string; state: string; tokenAddress: string | null }>(
          'createProject',
          'project { id state tokenAddress }',
          input,
          DEVELOPER,
        );
        if (project) add({ kind: 'Project', ...project, caller: DEVELOPER, answeredAt: answeredAt() });
      },
    },
    purchase: {
      weight: 5,
      async run({ projects }) {
        if (projects.length === 0) return;
        const buyer = { role: 'buyer', subject: random.pick(BUYERS) } as const;
        const input = { tokenAddress: random.pick(projects), amountCO2e: String(5 + random.below(20)) };
        const purchase = await mutate<{ id: string; tonnes: string }>(
          'purchase',
          'purchase { id tonnes }',
          input,
          buyer,
        );
        if (!purchase) return;
        holdings.push({ buyer, tokenAddress: input.tokenAddress });
        add({ kind: 'Purchase', ...purchase, caller: buyer, answeredAt: answeredAt() });
      },
    },
    transferCredits: {
      weight: 2,
      async run({ projects }) {
        if (projects.length === 0) return;
        const [from, to] = BUYERS;
        const buyer = { role: 'buyer', subject: from } as const;
        const input = { tokenAddress: random.pick(projects), amountCO2e: '1', toBuyerId: to };
        const transfer = await mutate<{ id: string; tonnes: string }>(
          'transferCredits',
          'creditTransfer { id tonnes }',
          input,
          buyer,
        );
        if (transfer) add({ kind: 'CreditTransfer', ...transfer, caller: buyer, answeredAt: answeredAt() });
      },
    },
    retire: {
      weight: 8,
      async run() {
        if (holdings.length === 0) return;
        const { buyer, tokenAddress } = random.pick(holdings);
        const input = {
          tokenAddress,
          amountCO2e: '1',
          buyerName: beneficiaryOf(buyer.subject),
          // Names the intent on the network: the burns of one are counted by it.
          note: `burn ${epoch} ${key}`,
        };
        const retirement = await mutate<{ id: string; state: string; note: string }>(
          'retire',
          'retirement { id state note }',
          input,
          buyer,
        );
        if (retirement) add({ kind: 'Retirement', ...retirement, caller: buyer, answeredAt: answeredAt() });
      },
    },
    createDeposit: {
      weight: 2,
      async run({ receipts }) {
        if (receipts.length >= MAX_RECEIPTS) return;
        const input = {
          farmerAddress: custodyAddress,
          farmerId: FARMER.subject,
          commodityType: 'Maize',
          quantityKg: 100_000,
          warehouseId: WAREHOUSE.subject,
          gradeClassification: 'Grade 1',
          valuationUSD: 400,
        };
        const receipt = await mutate<{ id: string; state: string; tokenAddress: string | null }>(
          'createDeposit',
          'receipt { id state tokenAddress }',
          input,
          WAREHOUSE,
        );
        if (receipt) add({ kind: 'Receipt', ...receipt, caller: WAREHOUSE, answeredAt: answeredAt() });
      },
    },
    cashOut: {
      weight: 4,
      async run({ receipts }) {
        if (receipts.length === 0) return;
        const input = {
          receiptTokenAddress: random.pick(receipts),
          tokenAmount: 10 + random.below(50),
          fiatCurrency: 'KES',
          countryCode: 'KE',
          payoutAccount: { type: 'MOBILE_MONEY', accountNumber: '254700123456', provider: 'MTN' },
        };
        const session = await mutate<{ id: string; state: string }>(
          'cashOut',
          'offRampSession { id state }',
          input,
          FARMER,
        );
        if (session) add({ kind: 'OffRampSession', ...session, caller: FARMER, answeredAt: answeredAt() });
      },
    },
  };
  const names = Object.entries(acts).flatMap(([name, { weight }]) =>
    Array.from({ length: weight }, () => name),
  );

  async function runClient(): Promise<void> {
    while (!lab.isOver()) {
      noticeRestore();
      const state = known();
      // Nothing can be bought or cashed out before there is something.
      const needed =
        state.projects.length === 0 ? 'createProject' : state.receipts.length === 0 ? 'createDeposit' : null;
      const name = needed !== null && random.below(2) === 0 ? needed : random.pick(names);
      await acts[name]?.run(state);
      // A project that was answered before it had its token is asked for again.
      if (needed !== null || random.below(4) === 0) await learnTokens();
      await delay(random.below(2 * PAUSE_MS));
    }
    noticeRestore();
  }

  async function learnTokens(): Promise<void> {
    const all = load.facts.filter((fact) => 'tokenAddress' in fact && fact.tokenAddress === null);
    // Not the oldest one alone: it may be under review.
    const unknown = all.length === 0 ? undefined : random.pick(all);
    if (!unknown || !('tokenAddress' in unknown)) return;
    const began = lab.epoch;
    const reply = await api
      .once<{ node: { state: string; tokenAddress: string | null } | null }>(
        `query ($id: ID!) { node(id: $id) { ... on ${unknown.kind} { state tokenAddress } } }`,
        { id: unknown.id },
        unknown.caller,
      )
      .catch(() => null);
    if (reply && 'data' in reply && began === lab.epoch && reply.data.node?.tokenAddress) {
      const { state, tokenAddress } = reply.data.node;
      if (state === 'OPEN' || state === 'ACTIVE') Object.assign(unknown, { state, tokenAddress });
    }
  }

  load.hasBegun = async () => {
    const giveUpAt = Date.now() + BEGIN_WITHIN_MS;
    while (known().projects.length === 0 || known().receipts.length === 0) {
      if (Date.now() > giveUpAt)
        throw new Error('without any fault, no project and no receipt was made in time');
      await delay(POLL_MS);
    }
  };
  load.ended = runAll();
  return load;

  async function runAll(): Promise<void> {
    await Promise.all(Array.from({ length: CLIENTS }, runClient));
  }
}
